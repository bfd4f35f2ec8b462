package oidc

import (
	"errors"
	"fmt"

	"github.com/atrium-hq/atrium/domain/identity"
)

// refusal is identity.ErrUnauthenticated with a hidden reason. Printing and comparing it does not reveal the
// reason; only Reason does.
type refusal struct{ reason string }

func refused(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

func (*refusal) Error() string { return identity.ErrUnauthenticated.Error() }
func (*refusal) Unwrap() error { return identity.ErrUnauthenticated }

// Reason returns why Verify refused a token, and "" if err is not a refusal. It is only for the operator of the
// deployment. It may quote claims of the token, but neither the token nor its signature.
func Reason(err error) string {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.reason
	}
	return ""
}
