package token

import "github.com/ethereum/go-ethereum/common"

// Hostile contracts are wallets (EIP-1271) that take every signature for good while nobody has to
// pay for the answer, and change their mind in a block. Each is assembled by hand, since what they
// look at is not for Solidity to hide. They may stand at an address of their own, or be what an
// ordinary account delegates to (EIP-7702).
//
// accept, the end of all of them, returns isValidSignature's own selector:
//
//	PUSH4 1626ba7e  PUSH1 e0  SHL  PUSH0  MSTORE  PUSH1 20  PUSH0  RETURN
const (
	accept = "631626ba7e60e01b5f5260205ff3"
	revert = "5f5ffd"
)

// Creation returns the code that creates a contract of at most 255 bytes of code.
//
//	00 PUSH1 size  DUP1  PUSH1 09  PUSH0  CODECOPY  PUSH0  RETURN  09 code
func Creation(code []byte) []byte {
	return append([]byte{0x60, byte(len(code)), 0x80, 0x60, 0x09, 0x5f, 0x39, 0x5f, 0xf3}, code...)
}

// The hostile contracts.
var (
	// Turncoat accepts while gas costs nothing, which it does in eth_call and eth_estimateGas, and
	// reverts in a block.
	//
	//	00 GASPRICE  ISZERO  PUSH1 08  JUMPI  PUSH0  PUSH0  REVERT  08 JUMPDEST  accept
	Turncoat = common.FromHex("3a15600857" + revert + "5b" + accept)

	// Burner is a Turncoat that burns all the gas it is given in a block.
	//
	//	00 GASPRICE  ISZERO  PUSH1 06  JUMPI  INVALID  06 JUMPDEST  accept
	Burner = common.FromHex("3a15600657" + "fe" + "5b" + accept)

	// Glutton is a Burner that is satisfied, where gas costs nothing, with no less than ten million
	// of it: an estimate of its settlement is as much.
	//
	//	00 GASPRICE  ISZERO  PUSH1 06  JUMPI  INVALID
	//	06 JUMPDEST  GAS  PUSH3 989680  LT  PUSH1 13  JUMPI  PUSH0  PUSH0  REVERT  13 JUMPDEST  accept
	Glutton = common.FromHex("3a15600657" + "fe" + "5b" + "5a62989680" + "10601357" + revert + "5b" + accept)

	// Weathercock accepts in the block in which it was last called without data, and reverts in
	// every later one. A call at the head sees the head's own number.
	//
	//	00 CALLDATASIZE  PUSH1 08  JUMPI  NUMBER  PUSH0  SSTORE  STOP
	//	08 JUMPDEST  PUSH0  SLOAD  NUMBER  EQ  PUSH1 13  JUMPI  PUSH0  PUSH0  REVERT  13 JUMPDEST  accept
	Weathercock = common.FromHex("36600857" + "435f5500" + "5b" + "5f544314601357" + revert + "5b" + accept)

	// Deployer is a factory that asks no questions: it creates whatever it is called with (CREATE2,
	// salt 0), and reverts when it is called with the same again.
	//
	//	00 PUSH0  CALLDATALOAD  SLOAD  PUSH1 1a  JUMPI  PUSH1 01  PUSH0  CALLDATALOAD  SSTORE
	//	0b CALLDATASIZE  PUSH0  PUSH0  CALLDATACOPY  PUSH0  CALLDATASIZE  PUSH0  PUSH0  CREATE2
	//	14 PUSH0  MSTORE  PUSH1 20  PUSH0  RETURN  1a JUMPDEST  PUSH0  PUSH0  REVERT
	Deployer = common.FromHex("5f3554601a57" + "60015f3555" + "365f5f375f365f5ff5" + "5f5260205ff3" + "5b" + revert)

	// Drain creates, while gas costs nothing, a wallet that takes every signature, with 1,800 bytes
	// of code, so that much gas is given for it. In a block its creation burns that and creates
	// nothing.
	//
	//	00 GASPRICE  ISZERO  PUSH1 06  JUMPI  INVALID
	//	06 JUMPDEST  PUSH1 0e  PUSH1 12  PUSH0  CODECOPY  PUSH2 0708  PUSH0  RETURN  12 accept
	Drain = common.FromHex("3a15600657" + "fe" + "5b" + "600e60125f39" + "6107085ff3" + accept)

	// Switch accepts until it is called without data, and reverts from then on: whoever sees a
	// payment under way may turn it.
	//
	//	00 CALLDATASIZE  PUSH1 09  JUMPI  PUSH1 01  PUSH0  SSTORE  STOP
	//	09 JUMPDEST  PUSH0  SLOAD  ISZERO  PUSH1 13  JUMPI  PUSH0  PUSH0  REVERT  13 JUMPDEST  accept
	Switch = common.FromHex("36600957" + "60015f5500" + "5b" + "5f5415601357" + revert + "5b" + accept)

	// Fickle accepts where it is given little gas, as when its payment is settled alone, and
	// reverts where it is given what several need, also while it is simulated.
	//
	//	00 PUSH3 0186a0  GAS  LT  PUSH1 0c  JUMPI  PUSH0  PUSH0  REVERT  0c JUMPDEST  accept
	Fickle = common.FromHex("620186a05a10600c57" + revert + "5b" + accept)

	// Reenterer accepts while gas costs nothing. In a block it first has the token, which asks it,
	// send some of its money elsewhere. A token that only asks what is signed cannot be made to,
	// and all the gas of the attempt is gone.
	//
	//	00 GASPRICE  ISZERO  PUSH1 22  JUMPI
	//	05 PUSH4 a9059cbb  PUSH1 e0  SHL  PUSH0  MSTORE  PUSH1 01  PUSH1 04  MSTORE  PUSH1 01  PUSH1 24  MSTORE
	//	19 PUSH0  PUSH0  PUSH1 44  PUSH0  PUSH0  CALLER  GAS  CALL  22 JUMPDEST  accept
	Reenterer = common.FromHex("3a15602257" + "63a9059cbb60e01b5f52" + "6001600452" + "6001602452" +
		"5f5f60445f5f335af1" + "5b" + accept)
)
