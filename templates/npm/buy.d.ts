import type { SchemeRegistration } from "@x402/fetch";
import type { Artifact, Delivery, Keys, Receipt } from "./verify.js";

/** A purchase as it is kept: an object for JSON with an id. What else is in it is the buyer's own. */
export interface Purchase {
  /** 64 digits of hex. */
  id: string;
  [member: string]: unknown;
}

/** Where purchases are kept. create and replace return when what they keep is durable. */
export interface Journal {
  /** Keeps a new purchase; false where one with its id is there, whichever process made it. */
  create(purchase: Purchase): boolean | Promise<boolean>;
  /** Keeps another state of a purchase. */
  replace(purchase: Purchase): void | Promise<void>;
  /** Gives all purchases. */
  all(): Purchase[] | Promise<Purchase[]>;
}

/** A journal in a browser's localStorage, or in anything like it. */
export function storageJournal(storage?: Pick<Storage, "getItem" | "setItem" | "key" | "length">,
  prefix?: string): Journal;

export interface BuyerOptions {
  /** Base URL of the store, as it calls itself in what it signs. */
  store: string;
  /** Its keys, from where the caller has reason to believe them. They are never fetched. */
  keys: Keys;
  /** How to pay, as for the stock client: `{ network: "eip155:8453", client: new ExactEvmScheme(account) }`. */
  schemes: SchemeRegistration[];
  journal: Journal;
  /** The most that one purchase may cost, in USDC, such as "0.50". */
  perPurchase: string;
  /** The most that is signed for in a day, UTC, over all purchases of the journal, in USDC. */
  perDay: string;
  fetch?: typeof globalThis.fetch;
  /** The time, in milliseconds of Unix. */
  now?: () => number;
  /** Waits so many milliseconds. */
  sleep?: (ms: number) => unknown;
  /** How often the answer to a payment is asked for before buy gives up; 5 if not given. */
  tries?: number;
}

export interface Bought {
  order: string;
  billed: "yes";
  /** Whether it is the answer of an earlier purchase, which was charged then. */
  replay: boolean;
  /** The store's answer. Of a good that a human makes it has `order_id` and `order_url`. */
  answer: Record<string, any>;
  /** What is signed in it, checked; empty for goods without a certificate. */
  artifacts: Artifact[];
  /** The signed receipt, checked. */
  receipt: Receipt;
  /** The receipt that binds the answer, checked; absent in answers of before there were any. */
  delivery?: Delivery;
}

/** There is no answer to a purchase. */
export class NotBought extends Error {
  /** While it is unknown, call buy again with the same order. */
  readonly billed: "yes" | "no" | "unknown";
  readonly delivered: boolean;
  readonly retry: "never" | "now" | "after" | "same_payment";
  /** The problem code, such as `sold_out`; "" for an answer that is not the store's. */
  readonly code: string;
  /** Of the last answer; 0 where there was none. */
  readonly status: number;
  /** What the store says to do. */
  readonly nextStep: string;
}

export class Buyer {
  constructor(options: BuyerOptions);
  /**
   * Buys at a path of the store, such as `/api/buy/hello`. The order names the purchase: the same one never signs
   * twice, and gives what it bought before. Throws NotBought, and Refused for terms above the ceilings, terms that the
   * store did not sign, and answers that do not hold.
   */
  buy(order: string, path: string, inputs?: Record<string, unknown>): Promise<Bought>;
  /** The orders whose payment was signed and whose outcome is not known here. */
  unfinished(): Promise<{ order: string; created_at: string; usdc: string }[]>;
}
