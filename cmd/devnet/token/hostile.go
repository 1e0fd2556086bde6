package token

import "github.com/ethereum/go-ethereum/common"

// Hostile contracts are wallets (EIP-1271) that take every signature for good while nobody has to pay for the answer, and
// change their mind in a block. Each is assembled by hand, since what they look at is not for Solidity to hide. They may
// stand at an address of their own, or be what an ordinary account delegates to (EIP-7702).
//
// accept, the end of all of them, returns isValidSignature's own selector:
//
//	PUSH4 1626ba7e  PUSH1 e0  SHL  PUSH0  MSTORE  PUSH1 20  PUSH0  RETURN
const (
	accept = "631626ba7e60e01b5f5260205ff3"
	revert = "5f5ffd"
)

// The hostile contracts.
var (
	// Turncoat accepts while gas costs nothing, which it does in eth_call and eth_estimateGas, and reverts in a block.
	//
	//	00 GASPRICE  ISZERO  PUSH1 08  JUMPI  PUSH0  PUSH0  REVERT  08 JUMPDEST  accept
	Turncoat = common.FromHex("3a15600857" + revert + "5b" + accept)

	// Burner is a Turncoat that burns all the gas it is given in a block.
	//
	//	00 GASPRICE  ISZERO  PUSH1 06  JUMPI  INVALID  06 JUMPDEST  accept
	Burner = common.FromHex("3a15600657" + "fe" + "5b" + accept)

	// Glutton is a Burner that is satisfied, where gas costs nothing, with no less than ten million of it: an estimate of
	// its settlement is as much.
	//
	//	00 GASPRICE  ISZERO  PUSH1 06  JUMPI  INVALID
	//	06 JUMPDEST  GAS  PUSH3 989680  LT  PUSH1 13  JUMPI  PUSH0  PUSH0  REVERT  13 JUMPDEST  accept
	Glutton = common.FromHex("3a15600657" + "fe" + "5b" + "5a62989680" + "10601357" + revert + "5b" + accept)

	// Weathercock accepts in the block in which it was last called without data, and reverts in every later one. A call
	// at the head sees the head's own number.
	//
	//	00 CALLDATASIZE  PUSH1 08  JUMPI  NUMBER  PUSH0  SSTORE  STOP
	//	08 JUMPDEST  PUSH0  SLOAD  NUMBER  EQ  PUSH1 13  JUMPI  PUSH0  PUSH0  REVERT  13 JUMPDEST  accept
	Weathercock = common.FromHex("36600857" + "435f5500" + "5b" + "5f544314601357" + revert + "5b" + accept)

	// Switch accepts until it is called without data, and reverts from then on: whoever sees a payment under way may
	// turn it.
	//
	//	00 CALLDATASIZE  PUSH1 09  JUMPI  PUSH1 01  PUSH0  SSTORE  STOP
	//	09 JUMPDEST  PUSH0  SLOAD  ISZERO  PUSH1 13  JUMPI  PUSH0  PUSH0  REVERT  13 JUMPDEST  accept
	Switch = common.FromHex("36600957" + "60015f5500" + "5b" + "5f5415601357" + revert + "5b" + accept)
)
