package account

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// CheckSignIn returns an error unless issuer and subject can be linked to a user: the issuer is exactly
// the URL of one of org's, and the subject is valid as in Claims.
func CheckSignIn(org *identity.Org, issuer, subject string) error {
	var errs fault.Fields
	if !slices.ContainsFunc(org.Issuers, func(i identity.Issuer) bool { return i.URL == issuer }) {
		errs.Add("/issuer", "not_allowed_value",
			"Must be one of the organisation's issuers, exactly as it is configured.")
	}
	if subject == "" || len(subject) > 255 || !utf8.ValidString(subject) ||
		strings.ContainsFunc(subject, unicode.IsControl) {
		errs.Add("/subject", "invalid_format", "Must have 1 to 255 bytes, and no control characters.")
	}
	return errs.Err()
}

// TakeSignIn records that a sign-in of issuer belongs to p from now on, and no longer to from, if it
// belonged to someone. by must be the system: the operator of the deployment knows that both are the
// same person. from keeps everything else.
func (p *Person) TakeSignIn(by identity.Actor, issuer string, from *Person) error {
	if by.User != "" || by.Org != p.User.Org {
		return ErrUserNotFound
	}
	if from != nil {
		if from.User.ID == p.User.ID {
			return nil
		}
		from.User.recordInWorkspaces(by, idsOf(from.Memberships), "user.unlinked", map[string]any{"issuer": issuer})
	}
	p.User.recordInWorkspaces(by, idsOf(p.Memberships), "user.linked", map[string]any{"issuer": issuer})
	return nil
}
