// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ICollector, IDollar} from "./Escrow.sol";
import {Permit2, PermitTransferFrom, SignatureTransferDetails, TokenPermissions} from "./Permit2.sol";

interface IPermit {
    function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external;
}

/// What both collectors share: the escrow alone may send for a deposit.
abstract contract Collector is ICollector {
    address public constant x402BatchSettlement = 0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003;

    error OnlyX402BatchSettlement();

    modifier onlyEscrow() {
        if (msg.sender != x402BatchSettlement) revert OnlyX402BatchSettlement();
        _;
    }
}

/// Fetches deposits by EIP-3009, with the public interface of 0x4020806089470a89826cB9fB1f4059150b550004. The
/// authorization is for one channel, because its nonce is the hash of the channel's id and a salt.
contract ERC3009DepositCollector is Collector {
    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata data)
        external
        onlyEscrow
    {
        (uint256 validAfter, uint256 validBefore, uint256 salt, bytes memory signature) =
            abi.decode(data, (uint256, uint256, uint256, bytes));
        bytes32 nonce = keccak256(abi.encode(channelId, salt));
        IDollar(token).receiveWithAuthorization(payer, address(this), amount, validAfter, validBefore, nonce, signature);
        require(IDollar(token).transfer(msg.sender, amount), "Collector: transfer failed");
    }
}

/// Fetches deposits by Permit2, with the public interface of 0x4020425FAf3B746C082C2f942b4E5159887B0005. The channel is
/// the witness. A permit of the token's own for Permit2 may come with it; one that fails is logged, because somebody else
/// may have used it before.
contract Permit2DepositCollector is Collector {
    Permit2 public constant PERMIT2 = Permit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);
    bytes32 public constant DEPOSIT_WITNESS_TYPEHASH = keccak256("DepositWitness(bytes32 channelId)");
    string public constant DEPOSIT_WITNESS_TYPE_STRING =
        "DepositWitness witness)DepositWitness(bytes32 channelId)TokenPermissions(address token,uint256 amount)";

    event Permit2612Failed(address indexed token, address indexed owner, bytes reason);

    error Permit2612AmountMismatch();

    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata data)
        external
        onlyEscrow
    {
        (uint256 nonce, uint256 deadline, bytes memory signature, bytes memory permit) =
            abi.decode(data, (uint256, uint256, bytes, bytes));
        if (permit.length > 0) allow(payer, token, amount, permit);
        PERMIT2.permitWitnessTransferFrom(
            PermitTransferFrom(TokenPermissions(token, amount), nonce, deadline),
            SignatureTransferDetails(msg.sender, amount),
            payer,
            keccak256(abi.encode(DEPOSIT_WITNESS_TYPEHASH, channelId)),
            DEPOSIT_WITNESS_TYPE_STRING,
            signature
        );
    }

    function allow(address payer, address token, uint256 amount, bytes memory permit) private {
        (uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) =
            abi.decode(permit, (uint256, uint256, uint8, bytes32, bytes32));
        if (value != amount) revert Permit2612AmountMismatch();
        try IPermit(token).permit(payer, address(PERMIT2), value, deadline, v, r, s) {}
        catch (bytes memory reason) {
            emit Permit2612Failed(token, payer, reason);
        }
    }
}
