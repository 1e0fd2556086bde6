// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// What a contract wallet answers when asked about a signature (EIP-1271).
interface IWallet {
    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4);
}

/// A dollar for local chains: it answers the public interface of the dollar it stands in for (ERC-20, EIP-3009, EIP-2612,
/// EIP-1271 signatures, pause, blacklist) with the same events in the same order and the same error texts.
/// It has no constructor and no immutables, so a chain can be born with it: code plus storage slots.
/// The order of the state variables is a contract with the Go side of this package.
contract DevDollar {
    string public name; // slot 0, under 32 bytes
    string public version; // slot 1, under 32 bytes
    string public symbol; // slot 2, under 32 bytes
    address public minter; // slot 3: the low 20 bytes, then paused, then decimals
    bool public paused;
    uint8 public decimals;
    uint256 public totalSupply; // slot 4
    mapping(address => uint256) public balanceOf; // slot 5
    mapping(address => mapping(address => uint256)) public allowance; // slot 6
    mapping(address => mapping(bytes32 => bool)) private used; // slot 7
    mapping(address => uint256) public nonces; // slot 8
    mapping(address => bool) public isBlacklisted; // slot 9

    bytes32 public constant TRANSFER_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 public constant RECEIVE_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 public constant CANCEL_AUTHORIZATION_TYPEHASH =
        keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");
    bytes32 public constant PERMIT_TYPEHASH =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    uint256 private constant HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);
    event Mint(address indexed minter, address indexed to, uint256 amount);
    event Pause();
    event Unpause();
    event Blacklisted(address indexed account);
    event UnBlacklisted(address indexed account);

    modifier running() {
        require(!paused, "Pausable: paused");
        _;
    }

    modifier welcome(address account) {
        require(!isBlacklisted[account], "Blacklistable: account is blacklisted");
        _;
    }

    // The keeper of the token holds every office at once.

    function mint(address to, uint256 amount) external running welcome(msg.sender) welcome(to) returns (bool) {
        require(msg.sender == minter, "FiatToken: caller is not a minter");
        require(to != address(0), "FiatToken: mint to the zero address");
        require(amount > 0, "FiatToken: mint amount not greater than 0");
        totalSupply += amount;
        balanceOf[to] += amount;
        emit Mint(msg.sender, to, amount);
        emit Transfer(address(0), to, amount);
        return true;
    }

    function pause() external {
        require(msg.sender == minter, "Pausable: caller is not the pauser");
        paused = true;
        emit Pause();
    }

    function unpause() external {
        require(msg.sender == minter, "Pausable: caller is not the pauser");
        paused = false;
        emit Unpause();
    }

    function blacklist(address account) external {
        require(msg.sender == minter, "Blacklistable: caller is not the blacklister");
        isBlacklisted[account] = true;
        emit Blacklisted(account);
    }

    function unBlacklist(address account) external {
        require(msg.sender == minter, "Blacklistable: caller is not the blacklister");
        isBlacklisted[account] = false;
        emit UnBlacklisted(account);
    }

    // ERC-20.

    function transfer(address to, uint256 value) external running welcome(msg.sender) welcome(to) returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value)
        external
        running
        welcome(msg.sender)
        welcome(from)
        welcome(to)
        returns (bool)
    {
        uint256 left = allowance[from][msg.sender];
        require(value <= left, "ERC20: transfer amount exceeds allowance");
        move(from, to, value);
        if (left != type(uint256).max) allowance[from][msg.sender] = left - value;
        return true;
    }

    function approve(address spender, uint256 value) external running welcome(msg.sender) welcome(spender) returns (bool) {
        allow(msg.sender, spender, value);
        return true;
    }

    function increaseAllowance(address spender, uint256 by)
        external
        running
        welcome(msg.sender)
        welcome(spender)
        returns (bool)
    {
        allow(msg.sender, spender, allowance[msg.sender][spender] + by);
        return true;
    }

    function decreaseAllowance(address spender, uint256 by)
        external
        running
        welcome(msg.sender)
        welcome(spender)
        returns (bool)
    {
        uint256 left = allowance[msg.sender][spender];
        require(by <= left, "ERC20: decreased allowance below zero");
        allow(msg.sender, spender, left - by);
        return true;
    }

    // EIP-3009. One authorization is the key (authorizer, nonce); it is spent or cancelled once.

    function authorizationState(address authorizer, bytes32 nonce) external view returns (bool) {
        return used[authorizer][nonce];
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external running welcome(from) welcome(to) {
        bytes32 digest = authorizationDigest(TRANSFER_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce);
        spend(from, validAfter, validBefore, nonce, digest, abi.encodePacked(r, s, v));
        move(from, to, value);
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external running welcome(from) welcome(to) {
        bytes32 digest = authorizationDigest(TRANSFER_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce);
        spend(from, validAfter, validBefore, nonce, digest, signature);
        move(from, to, value);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external running welcome(from) welcome(to) {
        require(to == msg.sender, "FiatTokenV2: caller must be the payee");
        bytes32 digest = authorizationDigest(RECEIVE_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce);
        spend(from, validAfter, validBefore, nonce, digest, abi.encodePacked(r, s, v));
        move(from, to, value);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external running welcome(from) welcome(to) {
        require(to == msg.sender, "FiatTokenV2: caller must be the payee");
        bytes32 digest = authorizationDigest(RECEIVE_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce);
        spend(from, validAfter, validBefore, nonce, digest, signature);
        move(from, to, value);
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external running {
        cancel(authorizer, nonce, abi.encodePacked(r, s, v));
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature) external running {
        cancel(authorizer, nonce, signature);
    }

    // EIP-2612.

    function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external
        running
        welcome(owner)
        welcome(spender)
    {
        grant(owner, spender, value, deadline, abi.encodePacked(r, s, v));
    }

    function permit(address owner, address spender, uint256 value, uint256 deadline, bytes memory signature)
        external
        running
        welcome(owner)
        welcome(spender)
    {
        grant(owner, spender, value, deadline, signature);
    }

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(
            abi.encode(DOMAIN_TYPEHASH, keccak256(bytes(name)), keccak256(bytes(version)), block.chainid, address(this))
        );
    }

    // Below: what the entries share.

    function authorizationDigest(
        bytes32 kind,
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce
    ) private view returns (bytes32) {
        return typed(keccak256(abi.encode(kind, from, to, value, validAfter, validBefore, nonce)));
    }

    function typed(bytes32 message) private view returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1901", DOMAIN_SEPARATOR(), message));
    }

    /// Checks the window, the nonce and the signature in this order, then announces the authorization as used.
    /// The caller moves the money next, so that the Transfer is the very next log.
    function spend(
        address from,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes32 digest,
        bytes memory signature
    ) private {
        require(block.timestamp > validAfter, "FiatTokenV2: authorization is not yet valid");
        require(block.timestamp < validBefore, "FiatTokenV2: authorization is expired");
        require(!used[from][nonce], "FiatTokenV2: authorization is used or canceled");
        require(signedBy(from, digest, signature), "FiatTokenV2: invalid signature");
        used[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
    }

    function cancel(address authorizer, bytes32 nonce, bytes memory signature) private {
        require(!used[authorizer][nonce], "FiatTokenV2: authorization is used or canceled");
        bytes32 digest = typed(keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce)));
        require(signedBy(authorizer, digest, signature), "FiatTokenV2: invalid signature");
        used[authorizer][nonce] = true;
        emit AuthorizationCanceled(authorizer, nonce);
    }

    function grant(address owner, address spender, uint256 value, uint256 deadline, bytes memory signature) private {
        require(deadline >= block.timestamp, "FiatTokenV2: permit is expired");
        bytes32 digest = typed(keccak256(abi.encode(PERMIT_TYPEHASH, owner, spender, value, nonces[owner]++, deadline)));
        require(signedBy(owner, digest, signature), "EIP2612: invalid signature");
        allow(owner, spender, value);
    }

    /// An account with code, a delegated one (EIP-7702) included, is asked; only one without code is recovered.
    function signedBy(address signer, bytes32 digest, bytes memory signature) private view returns (bool) {
        if (signer.code.length == 0) return recover(digest, signature) == signer;
        (bool ok, bytes memory answer) =
            signer.staticcall(abi.encodeCall(IWallet.isValidSignature, (digest, signature)));
        return ok && answer.length >= 32 && abi.decode(answer, (bytes32)) == bytes32(IWallet.isValidSignature.selector);
    }

    function recover(bytes32 digest, bytes memory signature) private pure returns (address signer) {
        require(signature.length == 65, "ECRecover: invalid signature length");
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly ("memory-safe") {
            r := mload(add(signature, 0x20))
            s := mload(add(signature, 0x40))
            v := byte(0, mload(add(signature, 0x60)))
        }
        require(uint256(s) <= HALF_ORDER, "ECRecover: invalid signature 's' value");
        require(v == 27 || v == 28, "ECRecover: invalid signature 'v' value");
        signer = ecrecover(digest, v, r, s);
        require(signer != address(0), "ECRecover: invalid signature");
    }

    function move(address from, address to, uint256 value) private {
        require(from != address(0), "ERC20: transfer from the zero address");
        require(to != address(0), "ERC20: transfer to the zero address");
        require(value <= balanceOf[from], "ERC20: transfer amount exceeds balance");
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }

    function allow(address owner, address spender, uint256 value) private {
        require(owner != address(0), "ERC20: approve from the zero address");
        require(spender != address(0), "ERC20: approve to the zero address");
        allowance[owner][spender] = value;
        emit Approval(owner, spender, value);
    }
}
