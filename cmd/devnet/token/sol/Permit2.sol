// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IWallet} from "./DevDollar.sol";

interface IToken {
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

struct TokenPermissions {
    address token;
    uint256 amount;
}

struct PermitTransferFrom {
    TokenPermissions permitted;
    uint256 nonce;
    uint256 deadline;
}

struct SignatureTransferDetails {
    address to;
    uint256 requestedAmount;
}

/// Transfers by signature for tokens that have none of their own, with the part of the public interface of
/// 0x000000000022D473030F116dDEE9F6B43aC78BA3 that the proxy below and the collectors call, and the
/// errors that they pass on.
contract Permit2 {
    mapping(address => mapping(uint256 => uint256)) public nonceBitmap;

    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,uint256 chainId,address verifyingContract)");
    bytes32 private constant PERMISSIONS_TYPEHASH = keccak256("TokenPermissions(address token,uint256 amount)");
    bytes32 private constant PERMIT_TYPEHASH = keccak256(
        "PermitTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline)TokenPermissions(address token,uint256 amount)"
    );
    string private constant WITNESS_STUB =
        "PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,";

    event UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask);

    error SignatureExpired(uint256 signatureDeadline);
    error InvalidAmount(uint256 maxAmount);
    error InvalidNonce();
    error InvalidSignatureLength();
    error InvalidSignature();
    error InvalidSigner();
    error InvalidContractSignature();

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(abi.encode(DOMAIN_TYPEHASH, keccak256("Permit2"), block.chainid, address(this)));
    }

    function permitWitnessTransferFrom(
        PermitTransferFrom memory permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes32 witness,
        string calldata witnessTypeString,
        bytes calldata signature
    ) external {
        bytes32 message = keccak256(
            abi.encode(
                keccak256(abi.encodePacked(WITNESS_STUB, witnessTypeString)),
                keccak256(abi.encode(PERMISSIONS_TYPEHASH, permit.permitted)),
                msg.sender,
                permit.nonce,
                permit.deadline,
                witness
            )
        );
        move(permit, transferDetails, owner, message, signature);
    }

    function permitTransferFrom(
        PermitTransferFrom memory permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes calldata signature
    ) external {
        bytes32 message = keccak256(
            abi.encode(
                PERMIT_TYPEHASH,
                keccak256(abi.encode(PERMISSIONS_TYPEHASH, permit.permitted)),
                msg.sender,
                permit.nonce,
                permit.deadline
            )
        );
        move(permit, transferDetails, owner, message, signature);
    }

    function invalidateUnorderedNonces(uint256 word, uint256 mask) external {
        nonceBitmap[msg.sender][word] |= mask;
        emit UnorderedNonceInvalidation(msg.sender, word, mask);
    }

    function move(
        PermitTransferFrom memory permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes32 message,
        bytes calldata signature
    ) private {
        if (block.timestamp > permit.deadline) revert SignatureExpired(permit.deadline);
        if (transferDetails.requestedAmount > permit.permitted.amount) revert InvalidAmount(permit.permitted.amount);
        uint256 bit = 1 << (permit.nonce & 0xff);
        uint256 flipped = nonceBitmap[owner][permit.nonce >> 8] ^= bit;
        if (flipped & bit == 0) revert InvalidNonce();
        check(owner, keccak256(abi.encodePacked(hex"1901", DOMAIN_SEPARATOR(), message)), signature);
        (bool ok, bytes memory answer) = permit.permitted.token.call(
            abi.encodeCall(IToken.transferFrom, (owner, transferDetails.to, transferDetails.requestedAmount))
        );
        require(ok && (answer.length == 0 || abi.decode(answer, (bool))), "TRANSFER_FROM_FAILED");
    }

    /// An account with code is asked; only one without is recovered, from 65 bytes or from 64 (EIP-2098).
    function check(address owner, bytes32 digest, bytes calldata signature) private view {
        if (owner.code.length != 0) {
            if (IWallet(owner).isValidSignature(digest, signature) != IWallet.isValidSignature.selector) {
                revert InvalidContractSignature();
            }
            return;
        }
        bytes32 r;
        bytes32 s;
        uint8 v;
        if (signature.length == 65) {
            (r, s) = abi.decode(signature, (bytes32, bytes32));
            v = uint8(signature[64]);
        } else if (signature.length == 64) {
            (r, s) = abi.decode(signature, (bytes32, bytes32));
            v = uint8(uint256(s) >> 255) + 27;
            s = bytes32(uint256(s) & (type(uint256).max >> 1));
        } else {
            revert InvalidSignatureLength();
        }
        address signer = ecrecover(digest, v, r, s);
        if (signer == address(0)) revert InvalidSignature();
        if (signer != owner) revert InvalidSigner();
    }
}

/// Moves exactly what was permitted to whom the payer's witness names, with the public interface of the contract that
/// x402 settles Permit2 payments by, 0x402085c248EeA27D92E8b30b2C58ed07f9E20001.
contract ExactPermit2Proxy {
    struct Witness {
        address to;
        uint256 validAfter;
    }

    address public constant PERMIT2 = 0x000000000022D473030F116dDEE9F6B43aC78BA3;
    bytes32 public constant WITNESS_TYPEHASH = keccak256("Witness(address to,uint256 validAfter)");
    string public constant WITNESS_TYPE_STRING =
        "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,uint256 validAfter)";

    event Settled();

    error InvalidAmount();
    error InvalidDestination();
    error InvalidOwner();
    error PaymentTooEarly();

    function settle(
        PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external {
        if (permit.permitted.amount == 0) revert InvalidAmount();
        if (owner == address(0)) revert InvalidOwner();
        if (witness.to == address(0)) revert InvalidDestination();
        if (block.timestamp < witness.validAfter) revert PaymentTooEarly();
        Permit2(PERMIT2).permitWitnessTransferFrom(
            permit,
            SignatureTransferDetails(witness.to, permit.permitted.amount),
            owner,
            keccak256(abi.encode(WITNESS_TYPEHASH, witness)),
            WITNESS_TYPE_STRING,
            signature
        );
        emit Settled();
    }
}
