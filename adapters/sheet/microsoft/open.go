package microsoft

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/atrium-hq/atrium/adapters/sheet/upstream"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/source"
)

// item is what matters in a driveItem.
type item struct {
	Name string    `json:"name"`
	Size int64     `json:"size"`
	File *struct{} `json:"file"` // nil for folders and everything else that is no file
}

// Open opens the file at a location, of at most so many bytes, as the application of account. client guards the
// connections. Errors are faults of package source.
func (c Config) Open(
	ctx context.Context, client *http.Client, account connection.Credential, location string, limit int64,
) (upstream.File, error) {
	path, ok := itemPath(location)
	if !ok {
		return upstream.File{}, source.ErrURLNotAllowed
	}
	strict := *client // which follows no redirect: it would take the token along
	strict.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	token, err := c.token(ctx, &strict, account)
	if err != nil {
		return upstream.File{}, notSignedIn(err)
	}
	description, err := c.get(ctx, &strict, token, path+"?$select=name,size,file")
	if err != nil {
		return upstream.File{}, err
	}
	defer func() { _ = description.Body.Close() }() // it was read from
	if description.StatusCode != http.StatusOK {
		return upstream.File{}, refusal(description)
	}
	var found item
	if err := json.NewDecoder(io.LimitReader(description.Body, maxAnswer)).Decode(&found); err != nil {
		return upstream.File{}, source.ErrSheetFailed
	}
	switch {
	case found.File == nil:
		return upstream.File{}, source.ErrUnsupportedFormat.Because("This is not a file. Use the link of a workbook.")
	case found.Size > limit:
		return upstream.File{}, source.ErrFileTooLarge
	}
	response, err := c.download(ctx, client, &strict, token, path) //nolint:bodyclose // the caller of Open closes it
	return upstream.File{Name: source.TabTitle(found.Name), Response: response}, err
}

// download requests an item's content. The API answers with another server's address, which needs no token, and which
// must not get it ("Download preauthenticated URLs").
func (c Config) download(
	ctx context.Context, client, strict *http.Client, token, path string,
) (*http.Response, error) {
	content, err := c.get(ctx, strict, token, path+"/content")
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Body.Close() }()
	if content.StatusCode != http.StatusFound {
		return nil, refusal(content)
	}
	address, err := url.Parse(content.Header.Get("Location"))
	if err != nil || address.Scheme != "https" || address.Host == "" || address.User != nil {
		return nil, source.ErrSheetFailed
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, source.ErrSheetFailed
	}
	r.Header.Set("User-Agent", "Atrium")
	response, err := client.Do(r)
	if err != nil {
		return nil, upstream.Unreachable(err)
	}
	if err := upstream.Refusal(response.StatusCode, response.Header); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

func (c Config) get(ctx context.Context, client *http.Client, token, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Graph+path, nil)
	if err != nil {
		return nil, source.ErrURLNotAllowed
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "Atrium")
	response, err := client.Do(r)
	if err != nil {
		return nil, upstream.Unreachable(err)
	}
	return response, nil
}

// refusal returns the fault for a response of the API, by its status and error code ("Microsoft Graph error responses
// and resource types").
func refusal(r *http.Response) error {
	var answer struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	_ = json.NewDecoder(io.LimitReader(r.Body, maxAnswer)).Decode(&answer) // without it, the status says enough
	switch {
	case r.StatusCode == http.StatusUnauthorized:
		return source.ErrSheetNotShared.Because("Microsoft does not accept the application of this workspace's " +
			"connection. Verify the connection.")
	case r.StatusCode == http.StatusForbidden:
		return source.ErrSheetNotShared.Because("The application of this workspace's connection may not read this " +
			"file. Give it the application permission Files.Read.All, with admin consent.")
	case r.StatusCode == http.StatusNotFound:
		return source.ErrSheetNotFound
	case r.StatusCode == http.StatusBadRequest && answer.Error.Code == "invalidRequest":
		return source.ErrSheetNotFound.Because("Microsoft does not know this link. Copy the link of the file again.")
	case r.StatusCode == http.StatusServiceUnavailable && r.Header.Get("Retry-After") != "":
		return upstream.Refusal(http.StatusTooManyRequests, r.Header) // the API throttles with this status, too
	case r.StatusCode < http.StatusBadRequest: // of a kind that it should not have
		return source.ErrSheetFailed
	}
	return upstream.Refusal(r.StatusCode, r.Header)
}

// notSignedIn returns the fault for an error of token.
func notSignedIn(err error) error {
	refusal, ok := errors.AsType[*signInError](err)
	switch {
	case !ok:
		return upstream.Unreachable(err)
	case refusal.code == connection.QuotaExceeded:
		return source.ErrSheetRateLimited.WithRetryAfter(time.Minute)
	case refusal.code == connection.AuthFailed, refusal.code == connection.AuthRejected:
		return source.ErrSheetNotShared.Because(refusal.detail +
			" Verify the connection of this workspace to Microsoft.")
	}
	return source.ErrSheetFailed
}
