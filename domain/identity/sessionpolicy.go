package identity

import (
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
)

// ErrSecondFactorRequired is returned to a person whose sign-in showed less than the org's SessionPolicy wants.
var ErrSecondFactorRequired = &fault.Error{
	Kind: fault.Forbidden, Code: "second_factor_required",
	Detail: "Your organisation requires a passkey, or a sign-in with a second factor at its provider. Confirm this " +
		"session with a passkey (POST /api/auth/step-up), add your first passkey (POST /api/me/passkeys), or sign in " +
		"again at the provider.",
}

// SessionPolicy is an org's decision about the sessions of browsers. The zero policy keeps the defaults of package
// session.
type SessionPolicy struct {
	Idle time.Duration // the time without a request after which a session ends; 0: the default
	Life time.Duration // a session's maximum lifetime; 0: the default

	// SecondFactorFrom is the lowest role that needs a second factor: a passkey, or what Issuer.SecondFactor lists.
	// Operators need one, too. NoRole: no one does.
	SecondFactorFrom Role
}

// Check returns ErrSecondFactorRequired if by acts in a role that needs a second factor, and its session or its token
// of an issuer showed none. API keys are not affected: they are limited by KeyPolicy.
func (p SessionPolicy) Check(by Actor) error {
	if p.applies(by) && (by.Role >= p.SecondFactorFrom || by.Operator) {
		return ErrSecondFactorRequired
	}
	return nil
}

// CheckPasskeys returns ErrSecondFactorRequired if by has count passkeys and may not change them: where a second factor
// is required, a session that was opened by less adds only the first passkey, and removes none.
func (p SessionPolicy) CheckPasskeys(by Actor, count int) error {
	if p.applies(by) && count > 0 {
		return ErrSecondFactorRequired
	}
	return nil
}

// applies reports whether by could need a second factor, and has shown none.
func (p SessionPolicy) applies(by Actor) bool {
	isKey := by.Key != "" && by.Session == ""
	return p.SecondFactorFrom != NoRole && !by.SecondFactor && !isKey && !by.IsSystem()
}
