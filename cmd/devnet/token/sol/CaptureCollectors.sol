// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AuthCaptureEscrow, ITokenCollector, PaymentInfo} from "./Capture.sol";
import {IDollar} from "./Escrow.sol";
import {IToken, Permit2, PermitTransferFrom, SignatureTransferDetails, TokenPermissions} from "./Permit2.sol";

interface IMulticall3 {
    struct Call {
        address target;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls) external payable returns (Result[] memory);
}

/// What the three collectors share: the escrow alone may send.
abstract contract TokenCollector is ITokenCollector {
    AuthCaptureEscrow public constant authCaptureEscrow = AuthCaptureEscrow(0xf96815976523E00e65Be8f34cA5e64b4f41EB19c);

    error OnlyAuthCaptureEscrow();

    modifier onlyEscrow() {
        if (msg.sender != address(authCaptureEscrow)) revert OnlyAuthCaptureEscrow();
        _;
    }
}

/// What the two collectors of payments share: what a payer signs has the hash of its payment, without the payer, for a
/// nonce. A signature of a wallet that is not deployed yet (ERC-6492) has it deployed first, through a contract that
/// nobody trusts; whether that worked the token finds out.
abstract contract PaymentCollector is TokenCollector {
    IMulticall3 private constant MULTICALL = IMulticall3(0xcA11bde05977b3631167028862bE2a173976CA11);
    bytes32 private constant MAGIC = 0x6492649264926492649264926492649264926492649264926492649264926492;

    function collectorType() external pure returns (uint8) {
        return 0;
    }

    function nonceOf(PaymentInfo calldata paymentInfo) internal view returns (bytes32) {
        PaymentInfo memory p = paymentInfo;
        p.payer = address(0);
        return authCaptureEscrow.getHash(p);
    }

    function unwrap(bytes calldata signature) internal returns (bytes memory) {
        if (signature.length < 32 || bytes32(signature[signature.length - 32:]) != MAGIC) return signature;
        (address factory, bytes memory data, bytes memory inner) =
            abi.decode(signature[:signature.length - 32], (address, bytes, bytes));
        IMulticall3.Call[] memory calls = new IMulticall3.Call[](1);
        calls[0] = IMulticall3.Call(factory, data);
        MULTICALL.tryAggregate(false, calls);
        return inner;
    }
}

/// Fetches payments by EIP-3009, with the public interface of 0x8612dfdc421f80336cd14E8EF9cb1E765dB5ab88. data is the
/// payer's signature for all of maxAmount; what is above the amount goes back.
contract ERC3009PaymentCollector is PaymentCollector {
    function collectTokens(PaymentInfo calldata paymentInfo, address tokenStore, uint256 amount, bytes calldata data)
        external
        onlyEscrow
    {
        address payer = paymentInfo.payer;
        uint256 max = paymentInfo.maxAmount;
        IDollar token = IDollar(paymentInfo.token);
        bytes32 nonce = nonceOf(paymentInfo);
        token.receiveWithAuthorization(
            payer, address(this), max, 0, paymentInfo.preApprovalExpiry, nonce, unwrap(data)
        );
        if (max > amount) require(token.transfer(payer, max - amount), "PaymentCollector: transfer failed");
        require(token.transfer(tokenStore, amount), "PaymentCollector: transfer failed");
    }
}

/// Fetches payments by Permit2, with the public interface of 0xD69831Aed5bfe262067ec4c751f4F830EcdD446e. data is the
/// payer's signature; the permit has no witness, because its nonce names the payment.
contract Permit2PaymentCollector is PaymentCollector {
    Permit2 public constant permit2 = Permit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);

    function collectTokens(PaymentInfo calldata paymentInfo, address tokenStore, uint256 amount, bytes calldata data)
        external
        onlyEscrow
    {
        permit2.permitTransferFrom(
            PermitTransferFrom(
                TokenPermissions(paymentInfo.token, paymentInfo.maxAmount),
                uint256(nonceOf(paymentInfo)),
                paymentInfo.preApprovalExpiry
            ),
            SignatureTransferDetails(tokenStore, amount),
            paymentInfo.payer,
            unwrap(data)
        );
    }
}

/// Fetches refunds from the operator, who has to allow it, with the public interface of
/// 0x7a03443724d14798c4AB4622F1DAAcA761Fea486.
contract OperatorRefundCollector is TokenCollector {
    function collectorType() external pure returns (uint8) {
        return 1;
    }

    function collectTokens(PaymentInfo calldata paymentInfo, address tokenStore, uint256 amount, bytes calldata)
        external
        onlyEscrow
    {
        bool ok = IToken(paymentInfo.token).transferFrom(paymentInfo.operator, tokenStore, amount);
        require(ok, "OperatorRefundCollector: transfer failed");
    }
}
