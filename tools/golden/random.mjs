// The numbers come from a generator of our own, so that every run makes the same.
export function randomNumbers (seed) {
  let state = BigInt(seed);

  return (bound) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) % 2n ** 64n;

    return Number((state >> 33n) % BigInt(bound));
  };
}
