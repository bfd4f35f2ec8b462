package identity

import "time"

// KeyPolicy is an org's decision about its API keys. The zero policy allows all of them.
type KeyPolicy struct {
	// MaxLifetime is a new key's longest lifetime; 0 sets no limit. Keys that are older than the policy keep their
	// expiry.
	MaxLifetime time.Duration

	// DefaultLifetime is the lifetime of a new key that is created without an end; 0: MaxLifetime. A key that
	// another key creates ends no later than that one.
	DefaultLifetime time.Duration

	// NoPersonal forbids keys that authenticate people: none can be created, and existing ones do not
	// work while the policy is set. Service keys are not affected.
	NoPersonal bool
}
