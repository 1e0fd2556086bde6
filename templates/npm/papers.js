// What the store signs beside the record: certificates, and the papers that stand beside them
// (/spec/store-attestation/v1).
import { readForms } from "./forms.js";

// The members of each class in their order, in the language of forms.txt. A certificate has no
// member class; every other paper does.
export const fits = readForms(`
decimal = (0|[1-9][0-9]*)(\\.[0-9]{1,6})?
hash = sha256:[0-9a-f]{64}
salted = sha256-salted:[0-9a-f]{64}
moment | date | time
stamp = stamp_[a-z2-7]{20}

certificate cert_id=cert_.* item:s patron_number?:n1 date:moment name?:s tip_usdc?:decimal note?:s win?:s tag?:s
  attests?:s made_by?:s paid_usdc?:decimal asset?:s network?:s payer?:s settlement_tx?:s cross_ref?:s purpose?:s
  from_the_store?:s mandate_id?:s saw?:s settled_via?:s trade_partner?:s trade_price_usd?:decimal trade_instruction?:s

context_anchor anchor_id=anchor_[a-z2-7]{20} class:s patron_number:n1 date:moment summary:s name?:s from_the_store?:s
bitcoin_anchor anchor_id=anchor_[a-z2-7]{20} class:s patron_number:n1 date:moment digest=[0-9a-f]{64} label?:s name?:s
  from_the_store?:s
patronage_pass pass_id=pass_[a-z2-7]{20} class:s patron_number?:n1 date:moment name?:s starts:time ends:time
  from_the_store?:s
patronage_note month=[0-9]{4}-(0[1-9]|1[0-2]) class:s date:moment text:s made_by?:s from_the_store?:s

order | order_queued | order_completed
order_queued order_id=order_[a-z2-7]{20} class:s patron_number?:n1 date:moment item:s status=queued paid_usdc:decimal
  window_hours?:n1 due_at:time asked?:s from_the_store?:s
order_completed order_id=order_[a-z2-7]{20} class:s patron_number?:n1 date:moment item:s status=completed
  paid_usdc:decimal window_hours?:n1 due_at:time asked?:s completed_at:time answer:s from_the_store?:s

service_audit | audit_read | audit_missed
onpage_audit | audit_read | audit_missed
audit_read audit_id=audit_[a-z2-7]{20} class:s patron_number?:n1 date:moment item:s target:s slot?:slot_read
  read_at:time verdict:s findings:finding+ evidence:seen+ evidence_sha256:hash published_sha256?:s
  what_this_cannot_tell_you?:t* from_the_store?:s
audit_missed audit_id=audit_[a-z2-7]{20} class:s patron_number?:n1 date:moment item:s target:s slot:slot_missed
  evidence_sha256?:s published_sha256?:s what_this_cannot_tell_you?:t* from_the_store?:s
slot_read number:n1 of:n1 due:time watch?:s
slot_missed number:n1 of:n1 due:time missed:s watch?:s
finding checker:s verdict?:s report:object
seen method:t url:t at:t status?:n1 failed?:s head_sha256?:s body_sha256?:s body_bytes?:n1

provenance_check prov_id=prov_[a-z2-7]{20} class:s patron_number:n1 date:moment item?:s address:s read_at?:s
  reading:object what_this_cannot_tell_you?:t* from_the_store?:s
debt debt_id=debt_[a-z2-7]{20} class:s date:moment kind=refund|window owed_usdc:decimal value?:s network?:s asset?:s
  from?:s to:s valid_after?:s valid_before?:s nonce:s signature:s settlement_tx?:s from_the_store?:s
bounty bounty_id=bty_[a-z2-7]{20} class:s date:moment target_url?:s reward_usdc:decimal value?:s network?:s asset?:s
  from?:s to:s valid_after?:s valid_before?:s nonce:s signature:s settlement_network?:s settlement_tx:s
  from_the_store?:s
porch_line stamp_id:stamp class:s date:moment line:s hour:time weather?:s sealed_week?:s from_the_store?:s

letter | letter_received | letter_replied
letter_received letter_id=let_[a-z2-7]{20} class:s date:moment status=received wrote:salted from_the_store?:s
letter_replied letter_id=let_[a-z2-7]{20} class:s date:moment status=replied wrote:salted replied_at:time reply:s
  made_by:s from_the_store?:s
commission_request | request_filed | request_quoted
request_filed request_id=req_[a-z2-7]{20} class:s date:moment status=filed asked:salted from_the_store?:s
request_quoted request_id=req_[a-z2-7]{20} class:s date:moment status=quoted asked:salted quoted_at:time
  price_usdc:decimal window_hours:n1 from_the_store?:s
visit_stamp class:s date:moment from_the_store?:s line:s stamp_id:stamp
  week=[0-9]{4}-W(0[1-9]|[1-4][0-9]|5[0-3])
guestbook_sticker class:s date:moment entry=gst_[a-z2-7]{20} from_the_store?:s identity?:s line:s stamp_id:stamp

phantom_check | check_scheduled | check_observed | check_missed
check_scheduled check_id=check_[a-z2-7]{20} class:s patron_number?:n1 date:moment status=scheduled url:s due_at:time
  name?:s from_the_store?:s
check_observed check_id=check_[a-z2-7]{20} class:s patron_number?:n1 date:moment status=observed url:s due_at:time
  promise:s looked_at:time answer:looked name?:s from_the_store?:s
check_missed check_id=check_[a-z2-7]{20} class:s patron_number?:n1 date:moment status=missed url:s due_at:time
  promise:s missed:s name?:s from_the_store?:s
looked http_status?:n1 content_type?:s body_sha256?:s body_bytes?:n1 truncated?:true failed?:s problem?:s
`);

// classes are those beside certificates, with the member that names a paper.
export const classes = {
  __proto__: null,
  context_anchor: "anchor_id", bitcoin_anchor: "anchor_id", patronage_pass: "pass_id", patronage_note: "month",
  order: "order_id", service_audit: "audit_id", onpage_audit: "audit_id", provenance_check: "prov_id",
  debt: "debt_id", bounty: "bounty_id", porch_line: "stamp_id", letter: "letter_id",
  commission_request: "request_id", visit_stamp: "stamp_id", guestbook_sticker: "stamp_id",
  phantom_check: "check_id",
};
