"""The keys of the vault, and the proxies whose credentials they open."""

from corral.domain.errors import BadInput
from corral.domain.net.proxy import OpenProxy, ProxyPolicy, with_credentials
from corral.domain.secret import Secret
from corral.secrets.vault import Keyring, SealBroken, Vault, check_keys
from corral.settings import Settings
from corral.store.store import Store


def open_proxy(settings: Settings, policy: ProxyPolicy | None) -> OpenProxy | None:
    """Return the proxy of a job with its credentials, or None."""
    if policy is None or policy.is_direct:
        return None
    if policy.sealed is None:
        return with_credentials(policy, None)
    try:
        return with_credentials(policy, vault_of(settings).keys().open_text(policy.sealed, policy.bound).reveal())
    except SealBroken as problem:
        hint = "set the job's proxy_policy again"
        raise BadInput(f"the job's proxy cannot be used: {problem}", field="proxy_policy", hint=hint) from None


def vault_of(settings: Settings) -> Vault:
    key = settings.vault_key
    return Vault(settings.data_dir / "vault.key", None if key is None else Secret(key.get_secret_value()))


async def check_vault_keys(settings: Settings, store: Store) -> Keyring:
    """Return the keys of the vault; raise BadConfiguration if they cannot decrypt stored sessions."""
    vault = vault_of(settings)
    keys = vault.keys()
    check_keys(keys, await store.sessions.count_keys(), vault.location)
    return keys
