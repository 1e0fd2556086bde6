package solana

import (
	"fmt"

	"store.example/agentstore/dynamic/rail"
)

// The stock facilitator's reason codes (x402 3.4), in the order in which they are looked for.
const (
	reasonScheme       = "invalid_exact_svm_unsupported_scheme"
	reasonNetwork      = "invalid_exact_svm_network_mismatch"
	reasonNoFeePayer   = "invalid_exact_svm_payload_missing_fee_payer"
	reasonVersion      = "unsupported_transaction_version"
	reasonNotOurs      = "invalid_exact_svm_fee_payer_not_managed_by_facilitator"
	reasonUndecodable  = "invalid_exact_svm_payload_transaction_could_not_be_decoded"
	reasonSigners      = "invalid_exact_svm_payload_excessive_signers"
	reasonFeePayer     = "invalid_exact_svm_fee_payer_mismatch"
	reasonSignature    = "invalid_exact_svm_payload_signature_invalid"
	reasonTables       = "invalid_exact_svm_smart_wallet_alt_resolution_not_available"
	reasonInstructions = "invalid_exact_svm_payload_transaction_instructions_length"
	reasonLimit        = "invalid_exact_svm_payload_transaction_instructions_compute_limit_instruction"
	reasonPrice        = "invalid_exact_svm_payload_transaction_instructions_compute_price_instruction"
	reasonNoTransfer   = "invalid_exact_svm_payload_no_transfer_instruction"
	reasonOwnFunds     = "invalid_exact_svm_payload_transaction_fee_payer_transferring_funds"
	reasonIsolated     = "invalid_exact_svm_smart_wallet_fee_payer_not_isolated"
	reasonMint         = "invalid_exact_svm_payload_mint_mismatch"
	reasonRecipient    = "invalid_exact_svm_payload_recipient_mismatch"
	reasonAmount       = "invalid_exact_svm_payload_amount_mismatch"
	reasonMemoCount    = "invalid_exact_svm_payload_memo_count"
	reasonMemo         = "invalid_exact_svm_payload_memo_mismatch"
	reasonSimulation   = "invalid_exact_svm_transaction_simulation_failed"
	tooHigh            = "_too_high" // behind the codes of compute limit and price
)

// unknownAt are the codes of an instruction behind the transfer whose program is not allowed there.
var unknownAt = [...]string{
	"invalid_exact_svm_payload_unknown_fourth_instruction", "invalid_exact_svm_payload_unknown_fifth_instruction",
	"invalid_exact_svm_payload_unknown_sixth_instruction", "invalid_exact_svm_payload_unknown_seventh_instruction",
}

func refuse(reason, format string, args ...any) *rail.Refusal {
	return &rail.Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func malformed(why string) *rail.Refusal { return refuse("invalid_payload", "%s", why) }
