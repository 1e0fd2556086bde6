// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// What the two wallets share: the EIP-1271 answer, and acting on the signer's behalf.
abstract contract Signer {
    bytes4 private constant YES = 0x1626ba7e;
    bytes4 private constant NO = 0xffffffff;

    receive() external payable {}

    function signer() internal view virtual returns (address);

    /// Accepts the owner's 65-byte signature, or the same with the owner's address in front (85 bytes), as wallets with
    /// several keys write it.
    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        if (signature.length == 85) {
            if (address(bytes20(signature[:20])) != signer()) return NO;
            signature = signature[20:];
        }
        if (signature.length != 65) return NO;
        address who = ecrecover(digest, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64]));
        return who != address(0) && who == signer() ? YES : NO;
    }

    function execute(address target, uint256 value, bytes calldata data) external returns (bytes memory) {
        require(msg.sender == signer(), "Wallet: caller is not the owner");
        (bool ok, bytes memory answer) = target.call{value: value}(data);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(answer, 0x20), mload(answer))
            }
        }
        return answer;
    }
}

/// A contract wallet with one owner key.
contract SmartWallet is Signer {
    address public owner; // slot 0

    constructor(address first) {
        owner = first;
    }

    function signer() internal view override returns (address) {
        return owner;
    }
}

/// What an account may delegate its code to (EIP-7702) and stay able to sign: the owner is the account itself.
contract Delegate is Signer {
    function signer() internal view override returns (address) {
        return address(this);
    }
}

/// Deploys a SmartWallet at an address known beforehand (CREATE2), as an ERC-6492 signature names it.
contract WalletFactory {
    function deploy(address owner, bytes32 salt) external returns (address wallet) {
        wallet = addressOf(owner, salt);
        if (wallet.code.length == 0) new SmartWallet{salt: salt}(owner);
    }

    function addressOf(address owner, bytes32 salt) public view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(SmartWallet).creationCode, abi.encode(owner)));
        return address(uint160(uint256(keccak256(abi.encodePacked(hex"ff", address(this), salt, code)))));
    }
}
