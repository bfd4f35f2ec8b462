package account

import "github.com/atrium-hq/atrium/domain/identity"

// restrict gives d the scopes and the networks of by's credential where d names none. It returns an error if d allows
// more than these: identity.ErrScopeRequired with a scope that by does not have, or identity.ErrRoleCeiling.
func (d *KeyDraft) restrict(by identity.Actor) error {
	if d.Scopes == "" {
		d.Scopes = by.Scopes
	}
	for _, name := range d.Scopes.Names() {
		if !by.Scopes.Allow(identity.Scope(name)) {
			return identity.ErrScopeRequired.Because("You cannot give a key the scope " + name +
				": your own credential does not have it.")
		}
	}
	if d.Networks == "" {
		d.Networks = by.Networks
	}
	if !by.Networks.Cover(d.Networks) {
		return identity.ErrRoleCeiling.Because("You cannot allow a key to be used from addresses that your own " +
			"credential cannot be used from.")
	}
	return nil
}
