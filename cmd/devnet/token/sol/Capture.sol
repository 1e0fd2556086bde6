// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IDollar} from "./Escrow.sol";

/// What a payer lets an operator do with maxAmount of a token: fetch it before preApprovalExpiry, pay it to the receiver
/// before authorizationExpiry, and refund it before refundExpiry.
struct PaymentInfo {
    address operator;
    address payer;
    address receiver;
    address token;
    uint120 maxAmount;
    uint48 preApprovalExpiry;
    uint48 authorizationExpiry;
    uint48 refundExpiry;
    uint16 minFeeBps;
    uint16 maxFeeBps;
    address feeReceiver;
    uint256 salt;
}

/// Fetches tokens for the escrow, which alone may call it.
interface ITokenCollector {
    function collectorType() external view returns (uint8);
    function collectTokens(PaymentInfo calldata paymentInfo, address tokenStore, uint256 amount, bytes calldata data)
        external;
}

/// Holds what one operator has authorized, so that no fault of another's can reach it.
contract TokenStore {
    address public constant authCaptureEscrow = 0xf96815976523E00e65Be8f34cA5e64b4f41EB19c;

    error OnlyAuthCaptureEscrow();

    function sendTokens(address token, address recipient, uint256 amount) external returns (bool) {
        if (msg.sender != authCaptureEscrow) revert OnlyAuthCaptureEscrow();
        require(IDollar(token).transfer(recipient, amount), "TokenStore: transfer failed");
        return true;
    }
}

/// Payments that are authorized first, and captured or given back later, with the public interface of version 1.1 of the
/// contract that stands at 0xf96815976523E00e65Be8f34cA5e64b4f41EB19c (x402 scheme auth-capture). The operator alone
/// captures, voids and refunds; from authorizationExpiry on the payer reclaims what was not captured, by itself. It has
/// no constructor and no immutables, so a chain can be born with it.
contract AuthCaptureEscrow {
    struct PaymentState {
        bool hasCollectedPayment;
        uint120 capturableAmount;
        uint120 refundableAmount;
    }

    bytes32 public constant PAYMENT_INFO_TYPEHASH = keccak256(
        "PaymentInfo(address operator,address payer,address receiver,address token,uint120 maxAmount,uint48 preApprovalExpiry,uint48 authorizationExpiry,uint48 refundExpiry,uint16 minFeeBps,uint16 maxFeeBps,address feeReceiver,uint256 salt)"
    );
    uint16 private constant MAX_FEE_BPS = 10_000;
    uint8 private constant PAYMENT = 0; // types of collectors
    uint8 private constant REFUND = 1;

    mapping(bytes32 => PaymentState) public paymentState;
    bool private transient entered;

    event PaymentCharged(
        bytes32 indexed paymentInfoHash,
        PaymentInfo paymentInfo,
        uint256 amount,
        address tokenCollector,
        uint256 feeAmount,
        address feeReceiver
    );
    event PaymentAuthorized(
        bytes32 indexed paymentInfoHash, PaymentInfo paymentInfo, uint256 amount, address tokenCollector
    );
    event PaymentCaptured(bytes32 indexed paymentInfoHash, uint256 amount, uint256 feeAmount, address feeReceiver);
    event PaymentVoided(bytes32 indexed paymentInfoHash, uint256 amount);
    event PaymentReclaimed(bytes32 indexed paymentInfoHash, uint256 amount);
    event PaymentRefunded(bytes32 indexed paymentInfoHash, uint256 amount, address tokenCollector);
    event TokenStoreCreated(address indexed operator, address tokenStore);

    error AfterAuthorizationExpiry(uint48 timestamp, uint48 expiry);
    error AfterPreApprovalExpiry(uint48 timestamp, uint48 expiry);
    error AfterRefundExpiry(uint48 timestamp, uint48 expiry);
    error AmountOverflow(uint256 amount, uint256 limit);
    error BeforeAuthorizationExpiry(uint48 timestamp, uint48 expiry);
    error ExceedsMaxAmount(uint256 amount, uint256 maxAmount);
    error FeeAmountOutOfRange(uint256 feeAmount, uint256 min, uint256 max);
    error FeeBpsOverflow(uint16 feeBps);
    error InsufficientAuthorization(bytes32 paymentInfoHash, uint256 authorizedAmount, uint256 requestedAmount);
    error InvalidCollectorForOperation();
    error InvalidExpiries(uint48 preApproval, uint48 authorization, uint48 refund);
    error InvalidFeeBpsRange(uint16 minFeeBps, uint16 maxFeeBps);
    error InvalidFeeReceiver(address attempted, address expected);
    error InvalidSender(address sender, address expected);
    error PaymentAlreadyCollected(bytes32 paymentInfoHash);
    error ReentrancyGuardReentrantCall();
    error RefundExceedsCapture(uint256 refund, uint256 captured);
    error TokenCollectionFailed();
    error ZeroAmount();
    error ZeroAuthorization(bytes32 paymentInfoHash);
    error ZeroFeeReceiver();

    modifier nonReentrant() {
        if (entered) revert ReentrancyGuardReentrantCall();
        entered = true;
        _;
        entered = false;
    }

    modifier onlySender(address who) {
        if (msg.sender != who) revert InvalidSender(msg.sender, who);
        _;
    }

    modifier validAmount(uint256 amount) {
        if (amount == 0) revert ZeroAmount();
        if (amount > type(uint120).max) revert AmountOverflow(amount, type(uint120).max);
        _;
    }

    /// Fetches and pays at once.
    function charge(
        PaymentInfo calldata paymentInfo,
        uint256 amount,
        address tokenCollector,
        bytes calldata collectorData,
        uint256 feeAmount,
        address feeReceiver
    ) external nonReentrant onlySender(paymentInfo.operator) validAmount(amount) {
        bytes32 hash = firstTime(paymentInfo, amount);
        checkFee(paymentInfo, amount, feeAmount, feeReceiver);
        paymentState[hash] = PaymentState(true, 0, uint120(amount));
        emit PaymentCharged(hash, paymentInfo, amount, tokenCollector, feeAmount, feeReceiver);
        collect(paymentInfo, amount, tokenCollector, collectorData, PAYMENT);
        distribute(paymentInfo, amount, feeAmount, feeReceiver);
    }

    /// Fetches, and holds.
    function authorize(
        PaymentInfo calldata paymentInfo,
        uint256 amount,
        address tokenCollector,
        bytes calldata collectorData
    ) external nonReentrant onlySender(paymentInfo.operator) validAmount(amount) {
        bytes32 hash = firstTime(paymentInfo, amount);
        paymentState[hash] = PaymentState(true, uint120(amount), 0);
        emit PaymentAuthorized(hash, paymentInfo, amount, tokenCollector);
        collect(paymentInfo, amount, tokenCollector, collectorData, PAYMENT);
    }

    /// Pays of what is held, also in several parts.
    function capture(PaymentInfo calldata paymentInfo, uint256 amount, uint256 feeAmount, address feeReceiver)
        external
        nonReentrant
        onlySender(paymentInfo.operator)
        validAmount(amount)
    {
        checkFee(paymentInfo, amount, feeAmount, feeReceiver);
        if (block.timestamp >= paymentInfo.authorizationExpiry) {
            revert AfterAuthorizationExpiry(uint48(block.timestamp), paymentInfo.authorizationExpiry);
        }
        bytes32 hash = getHash(paymentInfo);
        PaymentState storage state = paymentState[hash];
        if (state.capturableAmount < amount) revert InsufficientAuthorization(hash, state.capturableAmount, amount);
        state.capturableAmount -= uint120(amount);
        state.refundableAmount += uint120(amount);
        emit PaymentCaptured(hash, amount, feeAmount, feeReceiver);
        distribute(paymentInfo, amount, feeAmount, feeReceiver);
    }

    /// Gives all that is held back to the payer, at any time.
    function void(PaymentInfo calldata paymentInfo) external nonReentrant onlySender(paymentInfo.operator) {
        (bytes32 hash, uint256 amount) = release(paymentInfo);
        emit PaymentVoided(hash, amount);
        send(paymentInfo.operator, paymentInfo.token, paymentInfo.payer, amount);
    }

    /// The same by the payer, once nothing can be captured any more.
    function reclaim(PaymentInfo calldata paymentInfo) external nonReentrant onlySender(paymentInfo.payer) {
        if (block.timestamp < paymentInfo.authorizationExpiry) {
            revert BeforeAuthorizationExpiry(uint48(block.timestamp), paymentInfo.authorizationExpiry);
        }
        (bytes32 hash, uint256 amount) = release(paymentInfo);
        emit PaymentReclaimed(hash, amount);
        send(paymentInfo.operator, paymentInfo.token, paymentInfo.payer, amount);
    }

    /// Gives back of what was captured, out of the operator's own pocket.
    function refund(
        PaymentInfo calldata paymentInfo,
        uint256 amount,
        address tokenCollector,
        bytes calldata collectorData
    ) external nonReentrant onlySender(paymentInfo.operator) validAmount(amount) {
        if (block.timestamp >= paymentInfo.refundExpiry) {
            revert AfterRefundExpiry(uint48(block.timestamp), paymentInfo.refundExpiry);
        }
        bytes32 hash = getHash(paymentInfo);
        uint120 captured = paymentState[hash].refundableAmount;
        if (captured < amount) revert RefundExceedsCapture(amount, captured);
        paymentState[hash].refundableAmount = captured - uint120(amount);
        emit PaymentRefunded(hash, amount, tokenCollector);
        collect(paymentInfo, amount, tokenCollector, collectorData, REFUND);
        send(paymentInfo.operator, paymentInfo.token, paymentInfo.payer, amount);
    }

    function getHash(PaymentInfo calldata paymentInfo) public view returns (bytes32) {
        bytes32 inner = keccak256(abi.encode(PAYMENT_INFO_TYPEHASH, paymentInfo));
        return keccak256(abi.encode(block.chainid, address(this), inner));
    }

    /// The store of an operator, which its first payment out deploys.
    function getTokenStore(address operator) public view returns (address) {
        bytes32 code = keccak256(type(TokenStore).creationCode);
        return address(uint160(uint256(keccak256(abi.encodePacked(hex"ff", address(this), saltOf(operator), code)))));
    }

    // Below: what the entries share.

    function saltOf(address operator) private pure returns (bytes32) {
        return bytes32(bytes20(operator));
    }

    function firstTime(PaymentInfo calldata p, uint256 amount) private view returns (bytes32 hash) {
        if (amount > p.maxAmount) revert ExceedsMaxAmount(amount, p.maxAmount);
        if (block.timestamp >= p.preApprovalExpiry) {
            revert AfterPreApprovalExpiry(uint48(block.timestamp), p.preApprovalExpiry);
        }
        if (p.preApprovalExpiry > p.authorizationExpiry || p.authorizationExpiry > p.refundExpiry) {
            revert InvalidExpiries(p.preApprovalExpiry, p.authorizationExpiry, p.refundExpiry);
        }
        if (p.maxFeeBps > MAX_FEE_BPS) revert FeeBpsOverflow(p.maxFeeBps);
        if (p.minFeeBps > p.maxFeeBps) revert InvalidFeeBpsRange(p.minFeeBps, p.maxFeeBps);
        hash = getHash(p);
        if (paymentState[hash].hasCollectedPayment) revert PaymentAlreadyCollected(hash);
    }

    function checkFee(PaymentInfo calldata p, uint256 amount, uint256 fee, address to) private pure {
        uint256 least = amount * p.minFeeBps / MAX_FEE_BPS;
        uint256 most = amount * p.maxFeeBps / MAX_FEE_BPS;
        if (fee < least || fee > most) revert FeeAmountOutOfRange(fee, least, most);
        if (fee > 0 && to == address(0)) revert ZeroFeeReceiver();
        if (p.feeReceiver != address(0) && p.feeReceiver != to) revert InvalidFeeReceiver(to, p.feeReceiver);
    }

    function release(PaymentInfo calldata p) private returns (bytes32 hash, uint256 amount) {
        hash = getHash(p);
        amount = paymentState[hash].capturableAmount;
        if (amount == 0) revert ZeroAuthorization(hash);
        paymentState[hash].capturableAmount = 0;
    }

    /// Has a collector bring amount into the operator's store, neither more nor less.
    function collect(PaymentInfo calldata p, uint256 amount, address collector, bytes calldata data, uint8 kind)
        private
    {
        if (ITokenCollector(collector).collectorType() != kind) revert InvalidCollectorForOperation();
        address store = getTokenStore(p.operator);
        uint256 held = IDollar(p.token).balanceOf(store);
        ITokenCollector(collector).collectTokens(p, store, amount, data);
        if (IDollar(p.token).balanceOf(store) != held + amount) revert TokenCollectionFailed();
    }

    function distribute(PaymentInfo calldata p, uint256 amount, uint256 fee, address feeReceiver) private {
        if (fee > 0) send(p.operator, p.token, feeReceiver, fee);
        if (amount > fee) send(p.operator, p.token, p.receiver, amount - fee);
    }

    function send(address operator, address token, address to, uint256 amount) private {
        address store = getTokenStore(operator);
        if (store.code.length == 0) {
            store = address(new TokenStore{salt: saltOf(operator)}());
            emit TokenStoreCreated(operator, store);
        }
        TokenStore(store).sendTokens(token, to, amount);
    }
}
