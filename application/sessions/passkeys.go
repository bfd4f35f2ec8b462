package sessions

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// Passkeys holds the use cases of people's passkeys: to manage them, to sign in with them and to confirm a session.
type Passkeys struct {
	atomic         ports.Atomic
	passkeys       ports.Passkeys
	sealer         ports.Sealer // of challenges
	authenticators ports.Authenticators
	mailer         ports.Mailer
	notes          ports.Notes
}

// NewPasskeys returns the use cases on these passkeys. challenges seals the challenges of browsers.
func NewPasskeys(
	atomic ports.Atomic, passkeys ports.Passkeys, challenges ports.Sealer, a ports.Authenticators, m ports.Mailer,
	n ports.Notes,
) *Passkeys {
	return &Passkeys{atomic: atomic, passkeys: passkeys, sealer: challenges, authenticators: a, mailer: m, notes: n}
}

// PasskeyOptions is what a browser needs to ask an authenticator for a response.
type PasskeyOptions struct {
	Challenge []byte
	Have      []account.Passkey // the caller's passkeys on this host
}

// OptionsToSignIn returns the options to sign in at rp. account.ErrPasskeysUnavailable if the org has issuers.
// Nothing is stored.
func (s *Passkeys) OptionsToSignIn(org *identity.Org, rp account.RelyingParty, now time.Time) (PasskeyOptions, error) {
	if len(org.Issuers) > 0 {
		return PasskeyOptions{}, account.ErrPasskeysUnavailable
	}
	c := account.Challenge{Org: org.ID, Purpose: account.ToSignIn, Host: rp.Host}
	challenge, err := s.sealer.Seal(account.NewChallenge(now), c.Binding())
	return PasskeyOptions{Challenge: challenge}, err
}

// OptionsToAdd returns the options to add a passkey at rp. Requires what account.Person.AddPasskey requires, and what
// the org's policy does of callers who have a passkey at rp (identity.SessionPolicy.CheckPasskeys).
func (s *Passkeys) OptionsToAdd(
	ctx context.Context, by identity.Actor, policy identity.SessionPolicy, rp account.RelyingParty,
) (PasskeyOptions, error) {
	if err := mayAdd(by); err != nil {
		return PasskeyOptions{}, err
	}
	out, err := s.options(ctx, by, rp, account.ToAddPasskey)
	if err == nil {
		err = policy.CheckPasskeys(by, len(out.Have))
	}
	return out, err
}

// mayAdd returns early what account.Person.AddPasskey would return to a caller who may not add a passkey.
func mayAdd(by identity.Actor) error {
	if err := account.MayUsePasskeys(by); err != nil {
		return err
	}
	return by.SteppedUp()
}

// OptionsToStepUp returns the options to confirm the caller's session at rp. account.ErrPasskeyNotFound if the caller
// has no passkey on this host.
func (s *Passkeys) OptionsToStepUp(
	ctx context.Context, by identity.Actor, rp account.RelyingParty,
) (PasskeyOptions, error) {
	if err := account.MayUsePasskeys(by); err != nil {
		return PasskeyOptions{}, err
	}
	out, err := s.options(ctx, by, rp, account.ToStepUp)
	if err == nil && len(out.Have) == 0 {
		err = account.ErrPasskeyNotFound
	}
	return out, err
}

// options returns a new challenge, and the person's passkeys for the same host.
func (s *Passkeys) options(
	ctx context.Context, by identity.Actor, rp account.RelyingParty, purpose account.ChallengePurpose,
) (out PasskeyOptions, err error) {
	list, err := s.passkeys.List(ctx, by.Org, by.User, page.Query{Limit: account.MaxPasskeys})
	if err != nil {
		return PasskeyOptions{}, err
	}
	for i := range list.Items {
		if list.Items[i].Host == rp.Host {
			out.Have = append(out.Have, list.Items[i])
		}
	}
	out.Challenge, err = s.sealer.Seal(account.NewChallenge(by.At), challengeOf(by, rp, purpose).Binding())
	return out, err
}

// challengeOf returns the challenge for the session of by.
func challengeOf(by identity.Actor, rp account.RelyingParty, purpose account.ChallengePurpose) account.Challenge {
	return account.Challenge{Org: by.Org, Purpose: purpose, Host: rp.Host, User: by.User, Session: by.Session}
}

// answered is a challenge that has not ended, to which an authenticator has responded.
type answered struct {
	challenge []byte // sealed
	ends      time.Time
}

// open returns the challenge that a response's client data answer. account.ErrPasskeyInvalid unless that is a challenge
// c.
func (s *Passkeys) open(c account.Challenge, clientData []byte, now time.Time) (answered, error) {
	ciphertext, err := account.AnsweredChallenge(clientData)
	if err != nil {
		return answered{}, err
	}
	content, err := s.sealer.Open(ciphertext, c.Binding())
	if err != nil {
		return answered{}, account.ErrPasskeyInvalid
	}
	ends, err := account.ChallengeEnd(content, now)
	return answered{challenge: ciphertext, ends: ends}, err
}

// refused returns account.ErrPasskeyRefused for account.ErrPasskeyInvalid: to a caller with a session, 401 would mean
// that the session has ended.
func refused(err error) error {
	if errors.Is(err, account.ErrPasskeyInvalid) {
		return account.ErrPasskeyRefused
	}
	return err
}

// Add adds a passkey of by's from an authenticator's response to the options of OptionsToAdd, and requires the same.
// account.ErrPasskeyRefused if the response does not verify.
func (s *Passkeys) Add(
	ctx context.Context, by identity.Actor, policy identity.SessionPolicy, rp account.RelyingParty, name string,
	response []byte,
) (k *account.Passkey, err error) {
	if err := mayAdd(by); err != nil {
		return nil, err
	}
	_, clientData, err := s.authenticators.Read(response)
	if err != nil {
		return nil, refused(err)
	}
	a, err := s.open(challengeOf(by, rp, account.ToAddPasskey), clientData, by.At)
	if err != nil {
		return nil, refused(err)
	}
	credential, err := s.authenticators.Created(rp, by.User, a.challenge, response)
	if err != nil {
		return nil, refused(err)
	}
	draft := account.PasskeyDraft{PasskeyCredential: credential, Host: rp.Host, Name: name}
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if err := tx.Passkeys.UseChallenge(ctx, by.Org, sha256.Sum256(a.challenge), a.ends); err != nil {
			return refused(err)
		}
		return tx.Passkeys.Update(ctx, by, by.User,
			func(p *account.Person, passkeys []*account.Passkey) (_ *account.Passkey, err error) {
				if err := policy.CheckPasskeys(by, account.PasskeysAt(rp, passkeys)); err != nil {
					return nil, err
				}
				k, err = p.AddPasskey(by, passkeys, draft)
				return k, err
			})
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

// SignIn opens a session for the person whose authenticator responded to the options of OptionsToSignIn. by is the
// system, in the request of the browser. Every problem with the response is account.ErrPasskeyInvalid.
func (s *Passkeys) SignIn(
	ctx context.Context, by identity.Actor, org *identity.Org, rp account.RelyingParty, response []byte,
	browser Browser,
) (out session.Opened, err error) {
	if len(org.Issuers) > 0 {
		return session.Opened{}, account.ErrPasskeysUnavailable
	}
	proof, err := s.verify(ctx, account.Challenge{Org: org.ID, Purpose: account.ToSignIn, Host: rp.Host}, rp, response,
		by.At)
	if err != nil {
		return session.Opened{}, err
	}
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if err := proof.use(ctx, tx, by); err != nil {
			return err
		}
		out, err = openIn(ctx, tx.Sessions, by, proof.passkey.User, session.ByPasskey, browser,
			func(p *account.Person, live []*session.Session) (*session.Session, session.Secrets, error) {
				return session.OpenByPasskey(by, p, proof.passkey.ID, browser.Agent, live)
			})
		return err
	})
	noteDisabled(ctx, s.notes, by, err)
	if errors.Is(err, identity.ErrUnauthenticated) || errors.Is(err, account.ErrUserNotFound) {
		err = account.ErrPasskeyInvalid
	}
	return out, err
}

// StepUp confirms the caller's session with an authenticator's response to the options of OptionsToStepUp.
// account.ErrPasskeyRefused if the response does not verify, or if the passkey is another person's.
func (s *Passkeys) StepUp(
	ctx context.Context, by identity.Actor, rp account.RelyingParty, response []byte,
) (out *session.Session, err error) {
	if err := account.MayUsePasskeys(by); err != nil {
		return nil, err
	}
	proof, err := s.verify(ctx, challengeOf(by, rp, account.ToStepUp), rp, response, by.At)
	if err == nil && proof.passkey.User != by.User {
		err = account.ErrPasskeyInvalid
	}
	if err != nil {
		return nil, refused(err)
	}
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if err := proof.use(ctx, tx, by); err != nil {
			return refused(err)
		}
		return tx.Sessions.Update(ctx, by, by.User,
			func(p *account.Person, live []*session.Session) (_ *session.Session, err error) {
				out, err = session.Confirm(by, p, live, proof.passkey.ID)
				return nil, err
			})
	})
	return out, err
}

// signature is a response that a passkey has signed.
type signature struct {
	answered
	passkey   *account.Passkey
	signCount uint32
}

// verify returns the passkey that signed a response to a challenge c. It stores nothing.
func (s *Passkeys) verify(
	ctx context.Context, c account.Challenge, rp account.RelyingParty, response []byte, now time.Time,
) (signature, error) {
	credential, clientData, err := s.authenticators.Read(response)
	if err != nil {
		return signature{}, err
	}
	k, err := s.passkeys.Find(ctx, c.Org, rp.Host, credential)
	if err != nil {
		return signature{}, err
	}
	a, err := s.open(c, clientData, now)
	if err != nil {
		return signature{}, err
	}
	count, err := s.authenticators.Signed(rp, k, a.challenge, response, c.User != "")
	return signature{answered: a, passkey: k, signCount: count}, err
}

// use stores that the challenge and the passkey were used.
func (s *signature) use(ctx context.Context, tx ports.Stores, by identity.Actor) error {
	if err := tx.Passkeys.UseChallenge(ctx, by.Org, sha256.Sum256(s.challenge), s.ends); err != nil {
		return err
	}
	return tx.Passkeys.Update(ctx, by, s.passkey.User,
		func(p *account.Person, passkeys []*account.Passkey) (*account.Passkey, error) {
			_, err := p.UsePasskey(by, passkeys, s.passkey.ID, s.signCount)
			return nil, orDisabled(p, session.ByPasskey, err)
		})
}

// List lists the caller's passkeys.
func (s *Passkeys) List(ctx context.Context, by identity.Actor, q page.Query) (account.PasskeyPage, error) {
	if err := account.MayUsePasskeys(by); err != nil {
		return account.PasskeyPage{}, err
	}
	return s.passkeys.List(ctx, by.Org, by.User, q)
}

// Get returns one of the caller's passkeys.
func (s *Passkeys) Get(ctx context.Context, by identity.Actor, id account.PasskeyID) (*account.Passkey, error) {
	all, err := s.List(ctx, by, page.Query{Limit: account.MaxPasskeys})
	if err != nil {
		return nil, err
	}
	for i := range all.Items {
		if all.Items[i].ID == id {
			return &all.Items[i], nil
		}
	}
	return nil, account.ErrPasskeyNotFound
}

// Rename renames one of the caller's passkeys.
func (s *Passkeys) Rename(
	ctx context.Context, by identity.Actor, id account.PasskeyID, match revision.Match, name string,
) (k *account.Passkey, err error) {
	err = s.passkeys.Update(ctx, by, by.User,
		func(p *account.Person, passkeys []*account.Passkey) (_ *account.Passkey, err error) {
			k, err = p.RenamePasskey(by, match, passkeys, id, name)
			return nil, err
		})
	return k, err
}

// Remove removes one of the caller's passkeys, and ends the sessions that it opened, unless keep is set. The org's
// policy may require a session with a second factor (identity.SessionPolicy.CheckPasskeys).
func (s *Passkeys) Remove(
	ctx context.Context, by identity.Actor, policy identity.SessionPolicy, id account.PasskeyID, match revision.Match,
	keep KeepSessions,
) error {
	if err := policy.CheckPasskeys(by, 1); err != nil {
		return err
	}
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if err := tx.Passkeys.Update(ctx, by, by.User,
			func(p *account.Person, passkeys []*account.Passkey) (*account.Passkey, error) {
				return nil, p.RemovePasskey(by, match, passkeys, id, s.mailer.Delivers())
			}); err != nil || keep {
			return err
		}
		return tx.Sessions.Update(ctx, by, by.User,
			func(p *account.Person, live []*session.Session) (*session.Session, error) {
				session.EndOpenedBy(by, p, live, id)
				return nil, nil
			})
	})
}

// Reset removes all passkeys of people who have lost them, and ends the user's sessions. by is the system.
func (s *Passkeys) Reset(ctx context.Context, by identity.Actor, user identity.UserID) (count int, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if err := tx.Passkeys.Update(ctx, by, user,
			func(p *account.Person, passkeys []*account.Passkey) (*account.Passkey, error) {
				count = len(passkeys)
				return nil, p.RemovePasskeys(by, passkeys)
			}); err != nil {
			return err
		}
		return tx.Sessions.Update(ctx, by, user,
			func(p *account.Person, live []*session.Session) (*session.Session, error) {
				return nil, session.EndBecause(by, p, session.EndedByReset, live)
			})
	})
	return count, err
}

// KeepSessions means that the sessions that a passkey opened outlive it.
type KeepSessions bool
