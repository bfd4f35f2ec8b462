package sessions

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/sessions"
	"github.com/atrium-hq/atrium/domain/identity"
)

// sealedCookie is a kind of cookies whose values only the server can read and create.
type sealedCookie struct {
	name     string // in place of "session" in the name of a session's cookie
	purpose  string // what the value is bound to, beside the org
	sameSite http.SameSite
}

// The browser sends a flow when it comes back from the provider, so it is not SameSite=Strict.
var (
	flowCookie   = sealedCookie{name: "sign_in", sameSite: http.SameSiteLaxMode}
	deviceCookie = sealedCookie{name: "device", purpose: "device ", sameSite: http.SameSiteStrictMode}
)

// nameIn returns the name of a request's cookie, and whether it is only for https.
func (k sealedCookie) nameIn(r *server.Call, org *identity.Org) (name string, secure bool, err error) {
	name, secure, err = r.API.SessionCookie(r.Request, org)
	return strings.Replace(name, "session", k.name, 1), secure, err
}

func (k sealedCookie) binding(org *identity.Org) []byte { return []byte(k.purpose + string(org.ID)) }

// setSealed stores a value in the browser, or removes it if it lasts no time.
func (a *handlers) setSealed(
	r *server.Call, k sealedCookie, org *identity.Org, value any, lasts time.Duration,
) error {
	name, secure, err := k.nameIn(r, org)
	if err != nil {
		return err
	}
	c := http.Cookie{ //nolint:gosec // G124: not Secure only for plain http on a loopback address (sessionCookie)
		Name: name, Path: "/", HttpOnly: true, Secure: secure, SameSite: k.sameSite, MaxAge: int(lasts.Seconds()),
	}
	if lasts <= 0 {
		c.MaxAge = -1
	} else {
		plain, err := json.Marshal(value)
		if err != nil {
			return err
		}
		ciphertext, err := a.cookies.Seal(plain, k.binding(org))
		if err != nil {
			return err
		}
		c.Value = base64.RawURLEncoding.EncodeToString(ciphertext)
	}
	r.ReplyHeader.Add("Set-Cookie", c.String())
	return nil
}

// readSealed decodes a value in the browser into target. It returns false if the browser has none.
func (a *handlers) readSealed(r *server.Call, k sealedCookie, org *identity.Org, target any) bool {
	name, _, err := k.nameIn(r, org)
	if err != nil {
		return false
	}
	c, err := r.Cookie(name)
	if err != nil {
		return false
	}
	ciphertext, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return false
	}
	plain, err := a.cookies.Open(ciphertext, k.binding(org))
	return err == nil && json.Unmarshal(plain, target) == nil
}

const (
	// deviceKept is how long a browser keeps who has signed in with it: as long as browsers keep any cookie (RFC
	// 6265bis, section 5.5).
	deviceKept = 400 * 24 * time.Hour
	// maxDevicePeople is the maximum number of people that a browser keeps, those who signed in last.
	maxDevicePeople = 20
)

// device is who has signed in with a browser, as the browser keeps it. The server stores nothing.
type device struct {
	People []identity.UserID `json:"people"` // the last one last
}

// browserOf returns the browser that sent a request.
func (a *handlers) browserOf(r *server.Call, org *identity.Org) sessions.Browser {
	var d device
	a.readSealed(r, deviceCookie, org, &d)
	return sessions.Browser{Agent: r.UserAgent(), People: d.People}
}

// keepDevice adds a person who has signed in to what the browser keeps.
func (a *handlers) keepDevice(r *server.Call, org *identity.Org, user identity.UserID) error {
	var d device
	a.readSealed(r, deviceCookie, org, &d)
	d.People = append(slices.DeleteFunc(d.People, func(other identity.UserID) bool { return other == user }), user)
	d.People = d.People[max(0, len(d.People)-maxDevicePeople):]
	return a.setSealed(r, deviceCookie, org, d, deviceKept)
}
