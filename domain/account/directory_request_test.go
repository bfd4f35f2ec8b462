package account_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// TestDirectoryRequestsAreKeptWithoutValues creates the record of requests whose names and ids may be values.
func TestDirectoryRequestsAreKeptWithoutValues(t *testing.T) {
	by := identity.System("org", "", "req_1", now)
	record := func(r account.DirectoryRequest) *account.DirectoryRequest {
		return account.NewDirectoryRequest(by, r)
	}
	t.Run("names stay as they are, once each, and what is no name does not", func(t *testing.T) {
		schema := "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager"
		got := record(account.DirectoryRequest{Attributes: []string{"userName", "emails.value", schema, "userName",
			"ann@example.com", "Ann Lee", "+41 79", "417912345", "", "$ref", strings.Repeat("a", 121)}}).Attributes
		assert.EqualSlice(t, "names", got, []string{"userName", "emails.value", schema, "?", "$ref"})
	})
	t.Run("the first 32 names are kept", func(t *testing.T) {
		var names []string
		for i := range 40 {
			names = append(names, "a"+strings.Repeat("b", i))
		}
		assert.EqualSlice(t, "names", record(account.DirectoryRequest{Attributes: names}).Attributes, names[:32])
	})
	t.Run("an id is kept if it is one", func(t *testing.T) {
		for subject, want := range map[string]string{
			"usr_01jb4rqnx1e5btz2s1v2j9k3mn": "usr_01jb4rqnx1e5btz2s1v2j9k3mn",
			"dgr_01jb4rqnx1e5btz2s1v2j9k3mn": "dgr_01jb4rqnx1e5btz2s1v2j9k3mn",
			"ann@example.com":                "", "usr_ann": "", ".search": "", "": "",
		} {
			assert.Equal(t, "of "+subject, record(account.DirectoryRequest{Subject: subject}).Subject, want)
		}
	})
	t.Run("an error is a refusal, whatever the request was", func(t *testing.T) {
		for status, want := range map[int]account.DirectoryOutcome{200: account.DirectoryRead,
			304: account.DirectoryRead, 400: account.DirectoryRefused, 503: account.DirectoryRefused} {
			got := record(account.DirectoryRequest{Status: status, Outcome: account.DirectoryRead}).Outcome
			assert.Equal(t, "outcome", got, want)
		}
	})
	t.Run("texts are cut, and the rest is of the request", func(t *testing.T) {
		got := record(account.DirectoryRequest{Code: strings.Repeat("é", 101), Detail: strings.Repeat("é", 501)})
		lengths := []int{len([]rune(got.Code)), len([]rune(got.Detail))}
		if !slices.Equal(lengths, []int{100, 500}) || got.Org != "org" || got.Request != "req_1" ||
			!got.CreatedAt.Equal(now) || !strings.HasPrefix(got.ID, "drq_") {
			t.Errorf("%v, %+v", lengths, got)
		}
	})
}
