/** The run that all peers make: ten steps, one after the other, each with a small result. */
export const STEPS = 10;
export const stepName = (n: number) => `step-${n}`;
export const resultOf = (n: number) => Promise.resolve({ n, text: 'x'.repeat(200) });
