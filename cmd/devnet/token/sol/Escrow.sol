// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IWallet} from "./DevDollar.sol";

/// What the escrow and its collector ask of a token.
interface IDollar {
    function balanceOf(address account) external view returns (uint256);
    function transfer(address to, uint256 value) external returns (bool);
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;
}

/// Fetches a deposit for the escrow, which alone may call it.
interface ICollector {
    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata data) external;
}

struct ChannelConfig {
    address payer;
    address payerAuthorizer;
    address receiver;
    address receiverAuthorizer;
    address token;
    uint40 withdrawDelay;
    bytes32 salt;
}

struct Voucher {
    ChannelConfig channel;
    uint128 maxClaimableAmount;
}

struct VoucherClaim {
    Voucher voucher;
    bytes signature;
    uint128 totalClaimed;
}

/// Channels out of which a payer spends by cumulative vouchers, with the public interface of the contract that stands at
/// 0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003 (x402 scheme batch-settlement). Money that was claimed stays in a channel's
/// balance, so what is free is balance less totalClaimed; receivers are paid what was claimed for them by settle.
/// It has no constructor and no immutables, so a chain can be born with it.
contract BatchSettlement {
    struct Channel {
        uint128 balance;
        uint128 totalClaimed;
    }

    struct Withdrawal {
        uint128 amount;
        uint40 initiatedAt;
    }

    struct Receiver {
        uint128 totalClaimed;
        uint128 totalSettled;
    }

    uint40 public constant MIN_WITHDRAW_DELAY = 15 minutes;
    uint40 public constant MAX_WITHDRAW_DELAY = 30 days;

    bytes32 public constant CHANNEL_CONFIG_TYPEHASH = keccak256(
        "ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)"
    );
    bytes32 public constant VOUCHER_TYPEHASH = keccak256("Voucher(bytes32 channelId,uint128 maxClaimableAmount)");
    bytes32 public constant REFUND_TYPEHASH = keccak256("Refund(bytes32 channelId,uint256 nonce,uint128 amount)");
    bytes32 public constant CLAIM_ENTRY_TYPEHASH =
        keccak256("ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)");
    bytes32 public constant CLAIM_BATCH_TYPEHASH = keccak256(
        "ClaimBatch(ClaimEntry[] claims)ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)"
    );
    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    string private constant NAME = "x402 Batch Settlement";
    string private constant VERSION = "1";
    uint256 private constant HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    mapping(bytes32 => Channel) public channels;
    mapping(bytes32 => Withdrawal) public pendingWithdrawals;
    mapping(bytes32 => uint256) public refundNonce;
    mapping(address => mapping(address => Receiver)) public receivers;
    bool private transient entered;

    event ChannelCreated(bytes32 indexed channelId, ChannelConfig config);
    event ChannelClosed(bytes32 indexed channelId, ChannelConfig config);
    event Deposited(bytes32 indexed channelId, address indexed sender, uint128 amount, uint128 newBalance);
    event Claimed(bytes32 indexed channelId, address indexed sender, uint128 claimAmount, uint128 newTotalClaimed);
    event Settled(address indexed receiver, address indexed token, address indexed sender, uint128 amount);
    event Refunded(bytes32 indexed channelId, address indexed sender, uint128 amount);
    event WithdrawInitiated(bytes32 indexed channelId, uint128 amount, uint40 finalizeAfter);
    event WithdrawFinalized(bytes32 indexed channelId, address indexed sender, uint128 amount);

    error ClaimExceedsBalance();
    error ClaimExceedsCeiling();
    error DepositCollectionFailed();
    error DepositOverflow();
    error ECDSAInvalidSignature();
    error ECDSAInvalidSignatureLength(uint256 length);
    error ECDSAInvalidSignatureS(bytes32 s);
    error EmptyBatch();
    error InvalidChannel();
    error InvalidCollector();
    error InvalidRefundNonce();
    error InvalidSignature();
    error NotAuthorizedToClaim();
    error NotAuthorizedToFinalizeWithdraw();
    error NotAuthorizedToRefund();
    error NotReceiverAuthorizer();
    error NothingToWithdraw();
    error ReentrancyGuardReentrantCall();
    error SafeERC20FailedOperation(address token);
    error WithdrawAmountExceedsAvailable();
    error WithdrawDelayNotElapsed();
    error WithdrawDelayOutOfRange();
    error WithdrawalAlreadyPending();
    error WithdrawalNotPending();
    error ZeroDeposit();
    error ZeroRefund();

    modifier nonReentrant() {
        if (entered) revert ReentrancyGuardReentrantCall();
        entered = true;
        _;
        entered = false;
    }

    /// Makes several calls of this contract's own in one transaction: all of them or none.
    function multicall(bytes[] calldata data) external returns (bytes[] memory results) {
        results = new bytes[](data.length);
        for (uint256 i = 0; i < data.length; i++) {
            (bool ok, bytes memory answer) = address(this).delegatecall(data[i]);
            if (!ok) bubble(answer);
            results[i] = answer;
        }
    }

    // Money in.

    function deposit(ChannelConfig calldata config, uint128 amount, address collector, bytes calldata collectorData)
        external
        nonReentrant
    {
        if (
            config.payer == address(0) || config.receiver == address(0) || config.receiverAuthorizer == address(0)
                || config.token == address(0)
        ) revert InvalidChannel();
        if (config.withdrawDelay < MIN_WITHDRAW_DELAY || config.withdrawDelay > MAX_WITHDRAW_DELAY) {
            revert WithdrawDelayOutOfRange();
        }
        if (amount == 0) revert ZeroDeposit();
        if (collector == address(0)) revert InvalidCollector();
        bytes32 id = getChannelId(config);
        Channel storage channel = channels[id];
        if (uint256(channel.balance) + amount > type(uint128).max) revert DepositOverflow();
        channel.balance += amount;
        uint256 held = IDollar(config.token).balanceOf(address(this));
        ICollector(collector).collect(config.payer, config.token, amount, id, collectorData);
        if (IDollar(config.token).balanceOf(address(this)) != held + amount) revert DepositCollectionFailed();
        if (channel.balance == amount && channel.totalClaimed == 0) emit ChannelCreated(id, config);
        emit Deposited(id, msg.sender, amount, channel.balance);
    }

    // What is owed.

    function claim(VoucherClaim[] calldata claims) external nonReentrant {
        if (claims.length == 0) revert EmptyBatch();
        for (uint256 i = 0; i < claims.length; i++) {
            if (!isReceiverSide(claims[i].voucher.channel)) revert NotAuthorizedToClaim();
            take(claims[i]);
        }
    }

    function claimWithSignature(VoucherClaim[] calldata claims, bytes calldata authorizerSignature)
        external
        nonReentrant
    {
        if (claims.length == 0) revert EmptyBatch();
        address authorizer = claims[0].voucher.channel.receiverAuthorizer;
        if (!signedBy(authorizer, getClaimBatchDigest(claims), authorizerSignature)) revert InvalidSignature();
        for (uint256 i = 0; i < claims.length; i++) {
            if (claims[i].voucher.channel.receiverAuthorizer != authorizer) revert NotReceiverAuthorizer();
            take(claims[i]);
        }
    }

    /// Pays a receiver what was claimed for it and not paid yet. Where there is nothing, nothing happens.
    function settle(address receiver, address token) external nonReentrant {
        Receiver storage account = receivers[receiver][token];
        uint128 due = account.totalClaimed - account.totalSettled;
        if (due == 0) return;
        account.totalSettled = account.totalClaimed;
        emit Settled(receiver, token, msg.sender, due);
        pay(token, receiver, due);
    }

    // Money back.

    function initiateWithdraw(ChannelConfig calldata config, uint128 amount) external nonReentrant {
        if (!isPayerSide(config)) revert InvalidChannel();
        if (amount == 0) revert NothingToWithdraw();
        bytes32 id = getChannelId(config);
        Withdrawal storage pending = pendingWithdrawals[id];
        if (pending.initiatedAt != 0) revert WithdrawalAlreadyPending();
        if (amount > free(channels[id])) revert WithdrawAmountExceedsAvailable();
        pending.amount = amount;
        pending.initiatedAt = uint40(block.timestamp);
        emit WithdrawInitiated(id, amount, uint40(block.timestamp) + config.withdrawDelay);
    }

    function finalizeWithdraw(ChannelConfig calldata config) external nonReentrant {
        if (!isPayerSide(config)) revert NotAuthorizedToFinalizeWithdraw();
        bytes32 id = getChannelId(config);
        Withdrawal memory pending = pendingWithdrawals[id];
        if (pending.initiatedAt == 0) revert WithdrawalNotPending();
        if (block.timestamp < uint256(pending.initiatedAt) + config.withdrawDelay) revert WithdrawDelayNotElapsed();
        delete pendingWithdrawals[id];
        Channel storage channel = channels[id];
        uint128 amount = smaller(pending.amount, free(channel));
        channel.balance -= amount;
        emit WithdrawFinalized(id, msg.sender, amount);
        payOut(id, config, amount);
    }

    function refund(ChannelConfig calldata config, uint128 amount) external nonReentrant {
        if (!isReceiverSide(config)) revert NotAuthorizedToRefund();
        giveBack(getChannelId(config), config, amount);
    }

    function refundWithSignature(
        ChannelConfig calldata config,
        uint128 amount,
        uint256 nonce,
        bytes calldata receiverAuthorizerSignature
    ) external nonReentrant {
        bytes32 id = getChannelId(config);
        if (nonce != refundNonce[id]) revert InvalidRefundNonce();
        if (!signedBy(config.receiverAuthorizer, getRefundDigest(id, nonce, amount), receiverAuthorizerSignature)) {
            revert InvalidSignature();
        }
        giveBack(id, config, amount);
    }

    // What is signed.

    function getChannelId(ChannelConfig calldata config) public view returns (bytes32) {
        return typed(keccak256(abi.encode(CHANNEL_CONFIG_TYPEHASH, config)));
    }

    function getVoucherDigest(bytes32 channelId, uint128 maxClaimableAmount) public view returns (bytes32) {
        return typed(keccak256(abi.encode(VOUCHER_TYPEHASH, channelId, maxClaimableAmount)));
    }

    function getRefundDigest(bytes32 channelId, uint256 nonce, uint128 amount) public view returns (bytes32) {
        return typed(keccak256(abi.encode(REFUND_TYPEHASH, channelId, nonce, amount)));
    }

    function getClaimBatchDigest(VoucherClaim[] calldata claims) public view returns (bytes32) {
        bytes memory entries;
        for (uint256 i = 0; i < claims.length; i++) {
            VoucherClaim calldata c = claims[i];
            bytes32 id = getChannelId(c.voucher.channel);
            entries = bytes.concat(
                entries,
                keccak256(abi.encode(CLAIM_ENTRY_TYPEHASH, id, c.voucher.maxClaimableAmount, c.totalClaimed))
            );
        }
        return typed(keccak256(abi.encode(CLAIM_BATCH_TYPEHASH, keccak256(entries))));
    }

    function eip712Domain()
        external
        view
        returns (bytes1, string memory, string memory, uint256, address, bytes32, uint256[] memory)
    {
        return (hex"0f", NAME, VERSION, block.chainid, address(this), bytes32(0), new uint256[](0));
    }

    // Below: what the entries share.

    /// Claims one row. One that claims nothing new is passed over, whatever its signature says.
    function take(VoucherClaim calldata c) private {
        ChannelConfig calldata config = c.voucher.channel;
        bytes32 id = getChannelId(config);
        Channel storage channel = channels[id];
        if (c.totalClaimed <= channel.totalClaimed) return;
        if (c.totalClaimed > c.voucher.maxClaimableAmount) revert ClaimExceedsCeiling();
        if (c.totalClaimed > channel.balance) revert ClaimExceedsBalance();
        bytes32 digest = getVoucherDigest(id, c.voucher.maxClaimableAmount);
        if (config.payerAuthorizer == address(0)) {
            if (!signedBy(config.payer, digest, c.signature)) revert InvalidSignature();
        } else if (recover(digest, c.signature) != config.payerAuthorizer) {
            revert InvalidSignature();
        }
        uint128 more = c.totalClaimed - channel.totalClaimed;
        channel.totalClaimed = c.totalClaimed;
        receivers[config.receiver][config.token].totalClaimed += more;
        emit Claimed(id, msg.sender, more, c.totalClaimed);
    }

    /// Refunds at most what is free, and makes every signed refund of the channel invalid even if that is nothing.
    function giveBack(bytes32 id, ChannelConfig calldata config, uint128 asked) private {
        if (asked == 0) revert ZeroRefund();
        refundNonce[id]++;
        Channel storage channel = channels[id];
        uint128 amount = smaller(asked, free(channel));
        if (amount == 0) return;
        channel.balance -= amount;
        Withdrawal storage pending = pendingWithdrawals[id];
        if (pending.amount <= amount) delete pendingWithdrawals[id];
        else pending.amount -= amount;
        emit Refunded(id, msg.sender, amount);
        payOut(id, config, amount);
    }

    function payOut(bytes32 id, ChannelConfig calldata config, uint128 amount) private {
        if (channels[id].balance == 0 && channels[id].totalClaimed == 0) emit ChannelClosed(id, config);
        if (amount > 0) pay(config.token, config.payer, amount);
    }

    function pay(address token, address to, uint256 amount) private {
        (bool ok, bytes memory answer) = token.call(abi.encodeCall(IDollar.transfer, (to, amount)));
        if (!ok) bubble(answer);
        if (answer.length == 0 ? token.code.length == 0 : !abi.decode(answer, (bool))) {
            revert SafeERC20FailedOperation(token);
        }
    }

    function bubble(bytes memory answer) private pure {
        assembly ("memory-safe") {
            revert(add(answer, 0x20), mload(answer))
        }
    }

    function free(Channel storage channel) private view returns (uint128) {
        return channel.balance - channel.totalClaimed;
    }

    function smaller(uint128 a, uint128 b) private pure returns (uint128) {
        return a < b ? a : b;
    }

    function isReceiverSide(ChannelConfig calldata config) private view returns (bool) {
        return msg.sender == config.receiver || msg.sender == config.receiverAuthorizer;
    }

    function isPayerSide(ChannelConfig calldata config) private view returns (bool) {
        return msg.sender == config.payer || msg.sender == config.payerAuthorizer;
    }

    function typed(bytes32 message) private view returns (bytes32) {
        bytes32 separator = keccak256(
            abi.encode(DOMAIN_TYPEHASH, keccak256(bytes(NAME)), keccak256(bytes(VERSION)), block.chainid, address(this))
        );
        return keccak256(abi.encodePacked(hex"1901", separator, message));
    }

    /// An account with code is asked; only one without is recovered.
    function signedBy(address signer, bytes32 digest, bytes calldata signature) private view returns (bool) {
        if (signer.code.length == 0) {
            if (signature.length != 65 || uint256(bytes32(signature[32:64])) > HALF_ORDER) return false;
            address who = ecrecover(digest, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64]));
            return who != address(0) && who == signer;
        }
        (bool ok, bytes memory answer) =
            signer.staticcall(abi.encodeCall(IWallet.isValidSignature, (digest, signature)));
        return ok && answer.length >= 32 && abi.decode(answer, (bytes32)) == bytes32(IWallet.isValidSignature.selector);
    }

    function recover(bytes32 digest, bytes calldata signature) private pure returns (address signer) {
        if (signature.length != 65) revert ECDSAInvalidSignatureLength(signature.length);
        bytes32 s = bytes32(signature[32:64]);
        if (uint256(s) > HALF_ORDER) revert ECDSAInvalidSignatureS(s);
        signer = ecrecover(digest, uint8(signature[64]), bytes32(signature[:32]), s);
        if (signer == address(0)) revert ECDSAInvalidSignature();
    }
}
