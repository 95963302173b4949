/** Numbers of bytes, for people. Pure. */

const UNITS = ["bytes", "KB", "MB", "GB", "TB"];

export function sizeOf(bytes: number, locale?: string): string {
  let [amount, unit] = [bytes, 0];
  while (amount >= 1000 && unit < UNITS.length - 1) [amount, unit] = [amount / 1000, unit + 1];
  const digits = unit > 0 && amount < 10 ? 1 : 0;
  const shown = amount.toLocaleString(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${shown} ${UNITS[unit] ?? ""}`;
}
