import { executionCollections } from '../../functions/runs/records.ts';
import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeNotes } from './behaviour.ts';
import { notesCollections } from './group/records.ts';

const collections = [...executionCollections, ...notesCollections];

describeNotes('postgresql', async () => openPostgresStore({ ...postgresOptions(), collections }), {
  skip: postgresMissing && `, left out: ${postgresMissing}`,
});
