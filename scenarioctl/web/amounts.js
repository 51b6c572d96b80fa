// Amounts in whole tokens, with a point or a comma, in the smallest unit; exact, so never as a floating-point number.

import { mistake } from "./dom.js";

// An amount that can't be is a mistake in `field`.
export function rawAmount(text, decimals, field = "") {
  // As the server has it: 1.000 and 1,234 can be thousands.
  if (/^[1-9]\d{0,2}(,\d{3}|\.\d\d0)$/.test(text.trim())) throw mistake(field, `“${text}” can mean ${Number(text.replace(",", "."))} or ${text.replace(/[.,]/, "")}: write the one that you mean.`);
  const [, whole, fraction = ""] = text.trim().match(/^(\d+)(?:[.,](\d+))?$/) ?? [];
  if (whole === undefined || fraction.length > decimals) throw mistake(field, `“${text}” is not an amount: write a number like 0.5, with at most ${decimals} decimal places.`);
  return (whole + fraction.padEnd(decimals, "0")).replace(/^0+(?=\d)/, "");
}
