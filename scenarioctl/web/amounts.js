// Amounts in whole tokens, with a point or a comma, in the smallest unit; exact, so never as a floating-point number.

import { mistake } from "./dom.js";

// An amount that can't be is a mistake in `field`.
export function rawAmount(text, decimals, field = "") {
  const [, whole, fraction = ""] = text.trim().match(/^(\d+)(?:[.,](\d+))?$/) ?? [];
  if (whole === undefined || fraction.length > decimals) throw mistake(field, `${text} is not an amount: write a number like 0.5, with at most ${decimals} decimal places.`);
  return (whole + fraction.padEnd(decimals, "0")).replace(/^0+(?=\d)/, "");
}
