export { GoogleAuth } from 'google-auth-library';
