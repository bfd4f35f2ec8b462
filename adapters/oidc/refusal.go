package oidc

import (
	"errors"
	"fmt"

	"github.com/atrium-hq/atrium/domain/identity"
)

// refusal is identity.ErrUnauthenticated with why: whatever prints or compares it learns no more than
// that. Reason alone tells it.
type refusal struct{ reason string }

func refused(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

func (*refusal) Error() string { return identity.ErrUnauthenticated.Error() }
func (*refusal) Unwrap() error { return identity.ErrUnauthenticated }

// Reason returns why Verify refused a token, for the operator of the deployment and nobody else; empty
// if err is no refusal. It may name what the token says, and quotes neither the token nor its
// signature.
func Reason(err error) string {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.reason
	}
	return ""
}
