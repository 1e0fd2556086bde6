package evm

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/corpus/wallet"
)

// maxMessage bounds a message that a wallet signed, in bytes.
const maxMessage = 16 << 10

// ProveSigner implements rail.Rail: EIP-191 recovery for plain accounts, EIP-1271 for accounts with
// code. A signature that does not hold is a *rail.Refusal.
func (r *Rail) ProveSigner(ctx context.Context, address string, message, signature []byte) error {
	if !common.IsHexAddress(address) || len(message) > maxMessage || len(signature) > maxSignature {
		return malformed("the address, the message or the signature has an impossible form")
	}
	who := common.HexToAddress(address)
	var code hexutil.Bytes
	if err := r.rpc.one(ctx, &code, "eth_getCode", who.Hex(), "latest"); err != nil {
		return fmt.Errorf("reading the signer's code: %w", err)
	}
	hash := common.Hash(wallet.PersonalHash(string(message)))
	sig, wrapped := unwrap(signature)
	if len(code) == 0 {
		if wrapped {
			return refuse(reasonFactory, "the wallet is not deployed")
		}
		if signer, ok := recover65(hash, sig); !ok || signer != who || highS(sig) {
			return refuse(reasonSignature, "the signature is not the account's")
		}
		return nil
	}
	ok, err := r.validSignature(ctx, who, hash, sig)
	if err != nil {
		return fmt.Errorf("asking the signer's contract: %w", err)
	}
	if !ok {
		return refuse(reasonSignature, "the signer's contract does not accept the signature")
	}
	return nil
}
