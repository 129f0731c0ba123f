declare const transcript: readonly { readonly step: string }[];
export = transcript;
