package warehouse

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/atrium-hq/atrium/domain/connection"
)

// Grant asks the token endpoint at an address for an access token, with the parameters of form and the headers that
// sign sets, if there is one. refused returns the error for a response that is not 200 (RFC 6749, section 5).
func (w *Web) Grant(
	ctx context.Context, address string, form url.Values, sign func(*http.Request),
	codeOf func(Answer) connection.Code,
) (token string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return "", connection.Internal
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "atrium")
	if sign != nil {
		sign(r)
	}
	answer, err := w.Do(ctx, r)
	if errors.Is(err, connection.QueryTimeout) {
		err = connection.ConnectTimeout
	}
	if err != nil {
		return "", err
	}
	if answer.Status != http.StatusOK {
		return "", codeOf(answer)
	}
	var grant struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(answer.Body, &grant); err != nil || !connection.IsBearerToken(grant.AccessToken) {
		return "", connection.NotThisDatabase
	}
	return grant.AccessToken, nil
}
