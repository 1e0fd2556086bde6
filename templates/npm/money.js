// Amounts in USDC, as integers of a millionth.
import { need } from "./refused.js";

// millionths reads an amount in USDC, a decimal text such as "0.50".
export function millionths(usdc, what) {
  const [, whole, part = ""] = /^(0|[1-9]\d{0,11})(?:\.(\d{1,6}))?$/.exec(usdc) ?? [];
  need(whole, `${what}: ${JSON.stringify(usdc)} is no amount in USDC, such as "0.50"`);
  return BigInt(whole) * 1_000_000n + BigInt(part.padEnd(6, "0"));
}

// ofAtomic is what an amount of a token of some decimals comes to, rounded up.
export function ofAtomic(amount, decimals) {
  need(/^(0|[1-9]\d{0,77})$/.test(amount), `the terms ask for ${JSON.stringify(amount)}, which is no amount`);
  const n = BigInt(amount) * 1_000_000n, unit = 10n ** BigInt(decimals);
  return (n + unit - 1n) / unit;
}

export const usdc = (n) => `${n / 1_000_000n}.${String(n % 1_000_000n).padStart(6, "0")}`.replace(/\.?0+$/, "");
