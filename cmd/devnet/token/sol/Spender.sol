// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// A buyer's own contract: it makes many calls in one transaction, and can emit the token's events without being the token.
contract Spender {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);

    /// Makes every call in order, all or none.
    function spend(address token, bytes[] calldata calls) external {
        for (uint256 i = 0; i < calls.length; i++) {
            (bool ok, bytes memory answer) = token.call(calls[i]);
            if (!ok) {
                assembly ("memory-safe") {
                    revert(add(answer, 0x20), mload(answer))
                }
            }
        }
    }

    /// Emits what a paid authorization looks like, from an address that is not the token's.
    function forge(address from, address to, uint256 value, bytes32 nonce) external {
        emit AuthorizationUsed(from, nonce);
        emit Transfer(from, to, value);
    }
}
