/** Vectors from a second implementation in another language: single-precision numbers, little-endian, as hexadecimal. */
export const vectors = {
  'deterministic-hash': [
    {
      text: 'The quick brown fox jumps over the lazy dog',
      hex: '4526a0be4578e2be60fc8dbe19d0a63e9747e9bde466fa3e443a87be44dae5be',
    },
    { text: 'of the', hex: 'e44dd3be2c81f23e81dffcbe302f6f3d5d64acbe87b2e33ee8deb2bd5ace4a3e' },
    { text: '?!', hex: '304a753d3af448bd05a5f9beaa1b06be8d93a4bed35ddc3da3dc0f3f6e2b0e3f' },
    { text: 'Zürich 東京 𝒜bcd x1', hex: 'a0643a3eee09f03e72ad7ebd6364d6bd9713c23e9d8400bf3cd6073f591d70be' },
    { text: 'a b', hex: '27f1393d51da79be5a2400bd7513c4bee507b73ec8fca43c35371bbf6c080b3f' },
  ],
  'local-token-hash': [
    {
      text: 'The quick brown fox jumps over the lazy dog',
      hex: '000000003e4f683d3f4fe83dd08752bf414f683d64c03c3e5745cb3d93ac02bf',
    },
    { text: 'of the', hex: '00000000000000000000000000000000000000000000803f0000000000000000' },
    { text: '?!', hex: '0000000000000000000000000000000000000000000000000000803f00000000' },
    { text: 'Zürich 東京 𝒜bcd x1', hex: '53d6efbe37e41f3e37e49fbd37e49fbe45ddc7be0fd8e53eb0e70bbf00000000' },
    { text: 'a b', hex: '5e26f13d60784bbf00000000c7dcb43dfbb716bf000000000000000000000000' },
  ],
} as const;

/** SHA-256 of the bytes of the first text's vector in the default size. */
export const defaultHashes = {
  'deterministic-hash': 'b722ef9fd0b5e2cb81a076f0d45c52a072dbee652c69cf4277b861d8140c7ce7',
  'local-token-hash': '74c378d1ad265c7eb84e2cc2c9efcb4665fe76fe742c24e33d3e7478851a5038',
} as const;
