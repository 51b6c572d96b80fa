// Amounts in whole tokens, with a point or a comma, in the smallest unit; exact, so never as a floating-point number.

export function rawAmount(text, decimals) {
  const [, whole, fraction = ""] = text.trim().match(/^(\d+)(?:[.,](\d+))?$/) ?? [];
  if (whole === undefined || fraction.length > decimals) throw new Error(`${text} is not an amount: write a number like 0.5, with at most ${decimals} decimal places.`);
  return (whole + fraction.padEnd(decimals, "0")).replace(/^0+(?=\d)/, "");
}
