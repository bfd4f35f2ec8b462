package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const (
	scim      = "/scim/v2"
	scimUsers = scim + "/Users"
	scimGroup = scim + "/Groups"

	directoryToken = "the-token-of-the-directory-0123456789"
)

// directory returns a client of the directory.
func directory(t *testing.T, engine, limits string, options ...option) (*server, *client) {
	t.Helper()
	d := deployMigrated(t, engine, options...)
	file := filepath.Join(d.folder, "scim-token")
	require.NoError(t, os.WriteFile(file, []byte(directoryToken+"\n"), 0o600))
	configured(`
orgs:
  - slug: default
    scim: {tokens: ['file:` + file + `']` + limits + `}
    claim_rules:
      - {issuer: scim, claim: groups, value: Engineering, workspace: default, role: member}
      - {issuer: scim, claim: groups, value: Admins, workspace: default, role: admin}
    group_claim: {issuer: scim, claim: groups}
`)(d)
	s := d.start(t)
	return s, &client{server: s, token: directoryToken}
}

func scimUser(name string) object {
	return object{"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:User"}, "userName": name,
		"externalId": "ext-" + name, "name": object{"givenName": "Ann", "familyName": "Lee"},
		"emails": []object{{"value": name, "type": "work", "primary": true}}, "active": true}
}

func patch(operations ...object) object {
	return object{"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:PatchOp"}, "Operations": operations}
}

// refused checks an answer that is an error of SCIM.
func (a *answer) refused(t *testing.T, status int, in string) {
	t.Helper()
	a.is(t, status)
	if !strings.Contains(a.text, "urn:ietf:params:scim:api:messages:2.0:Error") || !strings.Contains(a.text, in) ||
		!strings.Contains(a.text, fmt.Sprintf(`"status":"%d"`, status)) {
		t.Errorf("%s answered %s\nwant an error of SCIM with %q", a.call, a.text, in)
	}
}

func TestADirectoryManagesPeople(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s, scimmer := directory(t, engine, ", email_domains: [example.com]")
		owner := s.user(t, "owner")
		member := func(t *testing.T, id string) string { // the role in the workspace
			t.Helper()
			a := owner.do(t, "GET", "/api/workspaces/default/members/"+id, nil)
			if a.status == http.StatusNotFound {
				return ""
			}
			return a.is(t, 200).at("role")
		}
		response := scimmer.do(t, "POST", scimUsers, scimUser("ann@example.com")).is(t, 201)
		ann := response.at("id")
		response.has(t, map[string]string{"userName": "ann@example.com", "externalId": "ext-ann@example.com",
			"emails.0.value": "ann@example.com", "name.familyName": "Lee", "active": "true", "meta.resourceType": "User"})
		assert.Equal(t, "Location", response.header.Get("Location"), response.at("meta.location"))
		if location := response.at("meta.location"); !strings.HasPrefix(location, "http") ||
			!strings.HasSuffix(location, scimUsers+"/"+ann) {
			t.Errorf("the location is %s", location)
		}
		one := scimUsers + "/" + ann
		var group string
		t.Run("a group gives its people what the claim rules say", func(t *testing.T) {
			assert.Equal(t, "without a group ann", member(t, ann), "")
			followedText := "/api/groups/" + owner.create(t, "/api/groups",
				object{"name": "Builders", "external_id": "Engineering"}).at("id")
			g := scimmer.do(t, "POST", scimGroup, object{"schemas": []string{
				"urn:ietf:params:scim:schemas:core:2.0:Group"}, "displayName": "Engineering",
				"members": []object{{"value": ann}}}).is(t, 201)
			group = scimGroup + "/" + g.at("id")
			assert.Equal(t, "in Engineering ann", member(t, ann), "member")
			owner.get(t, followedText+"/members").has(t, map[string]string{"data.0.user_id": ann})
			scimmer.get(t, one).has(t, map[string]string{"groups.0.display": "Engineering"})
			renamedValues := patch(object{"op": "replace", "value": object{"displayName": "Admins"}})
			scimmer.do(t, "PATCH", group, renamedValues).is(t, 200)
			assert.Equal(t, "in Admins ann", member(t, ann), "admin")
			owner.get(t, followedText).has(t, map[string]string{"size": "0"})
			owner.do(t, "PATCH", followedText, object{"external_id": nil}).is(t, 200).has(t,
				map[string]string{"external_id": "null"})
			scimmer.do(t, "PATCH", group+"?excludedAttributes=members",
				patch(object{"op": "remove", "path": `members[value eq "` + ann + `"]`})).is(t, 200).has(t,
				map[string]string{"members": ""})
			assert.Equal(t, "out of the group ann", member(t, ann), "")
			scimmer.do(t, "PATCH", group, patch(object{"op": "Add", "path": "members",
				"value": []object{{"value": ann}}})).is(t, 200).has(t, map[string]string{"members.0.value": ann})
			owner.recordsJoins(t)
		})
		t.Run("a list is filtered and paged", func(t *testing.T) {
			scimmer.do(t, "POST", scimUsers, scimUser("bob@example.com")).is(t, 201)
			for filter, total := range map[string]string{
				`userName eq "ANN@example.com"`: "1", `externalId eq "ext-bob@example.com"`: "1",
				`emails.value eq "ann@example.com" and userName eq "ann@example.com"`: "1", `userName eq "none"`: "0",
				`id eq "` + ann + `"`: "1", `emails[type eq "work"].value eq "ann@example.com"`: "1",
				`emails[type eq "home"].value eq "ann@example.com"`: "0", `active eq true`: "2",
				`userName sw "ANN@"`: "1", `userName co "@example"`: "2", `displayName pr`: "0",
				`userName sw "ann" or (externalId eq "ext-bob@example.com" and active eq "True")`: "2",
			} {
				found := scimmer.get(t, scimUsers+"?filter="+url.QueryEscape(filter))
				found.has(t, map[string]string{"totalResults": total})
			}
			scimmer.get(t, scimUsers+"?startIndex=2&count=1").has(t, map[string]string{"totalResults": "2",
				"Resources.0.userName": "bob@example.com", "Resources.1": ""})
			scimmer.do(t, "GET", scimUsers+"?filter="+url.QueryEscape(`userName gt "a"`), nil).refused(t, 400, "invalidFilter")
			scimmer.get(t, scimGroup+"?filter="+url.QueryEscape(`displayName eq "admins"`)).has(t,
				map[string]string{"totalResults": "1", "Resources.0.members": ""})
			for filter, total := range map[string]string{`members.value eq "` + ann + `"`: "1",
				`members eq "` + ann + `" and id eq "` + strings.TrimPrefix(group, scimGroup+"/") + `"`: "1",
				`members.value eq "x"`: "0", `displayName sw "adm"`: "1"} {
				scimmer.get(t, scimGroup+"?filter="+url.QueryEscape(filter)).has(t,
					map[string]string{"totalResults": total})
			}
			search := object{"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:SearchRequest"},
				"filter": `emails[type eq "work"].value sw "ann"`, "attributes": []string{"userName"}}
			for _, path := range []string{scimUsers, scim} {
				scimmer.do(t, "POST", path+"/.search", search).is(t, 200).has(t, map[string]string{"totalResults": "1",
					"Resources.0.userName": "ann@example.com", "Resources.0.active": "", "Resources.0.meta": ""})
			}
			all := scimmer.do(t, "POST", scim+"/.search", object{"schemas": search["schemas"], "startIndex": 2}).is(t,
				200)
			all.has(t, map[string]string{"totalResults": "3", "Resources.0.userName": "bob@example.com",
				"Resources.1.meta.resourceType": "Group", "Resources.2": ""})
		})
		t.Run("a resource has a version, and the attributes that are asked for", func(t *testing.T) {
			read := scimmer.get(t, one)
			tag := read.header.Get("Etag")
			assert.Equal(t, "the version", read.at("meta.version"), tag)
			scimmer.do(t, "GET", one, nil, "If-None-Match: "+tag).is(t, 304)
			change := patch(object{"op": "replace", "path": "name.givenName", "value": "Anne"})
			scimmer.do(t, "PATCH", one, change, `If-Match: W/"other"`).refused(t, 412, "If-Match")
			scimmer.do(t, "DELETE", group, nil, `If-Match: W/"other"`).refused(t, 412, "If-Match")
			scimmer.do(t, "PATCH", one, change, "If-Match: "+tag).is(t, 200)
			scimmer.do(t, "PUT", one, scimUser("ann@example.com"), "If-Match: "+tag).refused(t, 412, "If-Match")
			scimmer.do(t, "GET", one, nil, "If-None-Match: "+tag).is(t, 200)
			scimmer.get(t, one+"?attributes=name.familyName,active").has(t, map[string]string{"name.familyName": "Lee",
				"name.givenName": "", "active": "true", "userName": "", "id": ann})
			scimmer.get(t, one+"?excludedAttributes=emails").has(t, map[string]string{"emails": "",
				"userName": "ann@example.com"})
		})
		t.Run("an address belongs to one account", func(t *testing.T) {
			for _, path := range []string{`emails[type eq "work"].value`, `emails[primary eq "True"].value`} {
				scimmer.do(t, "PATCH", one, patch(object{"op": "replace", "path": path, "value": "bob@example.com"})).
					refused(t, 409, "uniqueness")
			}
			scimmer.get(t, one).has(t, map[string]string{"emails.0.value": "ann@example.com"})
		})
		t.Run("who is inactive stays so until the directory says true", func(t *testing.T) {
			scimmer.do(t, "PATCH", one, patch(object{"op": "replace", "path": "active", "value": false})).is(t, 200)
			silent := scimUser("ann@example.com")
			delete(silent, "active")
			scimmer.do(t, "PUT", one, silent).is(t, 200).has(t, map[string]string{"active": "false"})
			scimmer.do(t, "PATCH", one, patch(object{"op": "remove", "path": "active"})).is(t, 200).has(t,
				map[string]string{"active": "false"})
			scimmer.do(t, "PATCH", one, patch(object{"op": "replace", "value": object{"active": "True"}})).is(t,
				200).has(t,
				map[string]string{"active": "true"})
		})
		t.Run("what is wrong is refused in words", func(t *testing.T) {
			scimmer.do(t, "POST", scimUsers, scimUser("ann@example.com")).refused(t, 409, "userName")
			scimmer.do(t, "POST", scimUsers, scimUser("eve@elsewhere.example")).refused(t, 400, "domain")
			scimmer.do(t, "POST", scimUsers, object{"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:User"}}).
				refused(t, 400, "invalidValue")
			scimmer.do(t, "PATCH", one, patch(object{"op": "replace", "path": "active[", "value": false})).
				refused(t, 400, "invalidPath")
			scimmer.do(t, "GET", scimUsers+"/usr_01jb4rqnx1e5btz2s1v2j9k3mn", nil).refused(t, 404, "no such user")
			scimmer.do(t, "GET", scim+"/Elsewhere", nil).refused(t, 404, "endpoint")
			scimmer.do(t, "PATCH", group, patch(object{"op": "add", "path": "members",
				"value": []object{{"value": "usr_01jb4rqnx1e5btz2s1v2j9k3mn"}}})).refused(t, 404, "no such user")
			for _, token := range []string{"", directoryToken + "x", owner.token} {
				(&client{server: s, token: token}).do(t, "GET", one, nil).refused(t, 401, "")
			}
		})
		t.Run("the schemas and the configuration are described", func(t *testing.T) {
			scimmer.get(t, scim+"/ServiceProviderConfig").has(t, map[string]string{"patch.supported": "true"})
			scimmer.get(t, scim+"/ResourceTypes").has(t, map[string]string{"totalResults": "2"})
			scimmer.get(t, scim+"/Schemas").has(t, map[string]string{"totalResults": "5"})
			scimmer.get(t, scim+"/ServiceProviderConfig").has(t, map[string]string{"etag.supported": "true"})
		})
		t.Run("who is deactivated has nothing, and gets it back", func(t *testing.T) {
			key := s.must(t, "token", "create", "--email", "ann@example.com", "--workspace", "default", "--json")
			var token struct{ Token string }
			require.NoError(t, json.Unmarshal([]byte(key), &token))
			reader := &client{server: s, token: token.Token}
			reader.do(t, "GET", "/api/me", nil).is(t, 200)
			deactivatedValues := patch(object{"op": "Replace", "path": "active", "value": "False"})
			scimmer.do(t, "PATCH", one, deactivatedValues).is(t, 200).has(t, map[string]string{"active": "false"})
			s.await(t, func() bool { return reader.do(t, "GET", "/api/me", nil).status == http.StatusUnauthorized })
			second := scimmer.do(t, "PUT", one, scimUser("ann@example.com")).is(t, 200)
			second.has(t, map[string]string{"active": "true"})
			s.await(t, func() bool { return reader.do(t, "GET", "/api/me", nil).status == http.StatusOK })
			assert.Equal(t, "active again ann", member(t, ann), "admin")
		})
		t.Run("who is deleted is disabled, and comes back as the same person only", func(t *testing.T) {
			scimmer.do(t, "DELETE", one, nil).is(t, 204)
			scimmer.do(t, "GET", one, nil).refused(t, 404, "")
			assert.Equal(t, "deleted ann", member(t, ann), "")
			other := scimUser("ann@example.com")
			other["externalId"] = "ext-another-ann"
			scimmer.do(t, "POST", scimUsers, other).refused(t, 409, "externalId")
			if got := scimmer.do(t, "POST", scimUsers, scimUser("ann@example.com")).is(t, 201).at("id"); got != ann {
				t.Errorf("ann is back as %s, not %s", got, ann)
			}
		})
		t.Run("who is erased is forgotten", func(t *testing.T) {
			s.must(t, "user", "erase", "--email", "ann@example.com", "--yes")
			s.await(t, func() bool { return scimmer.do(t, "GET", one, nil).status == http.StatusNotFound })
		})
	})
}

// TestProvidersThatProvisionAreUnderstood replays what Okta and Entra ID send, as the library's tests recorded it:
// first what creates a user and a group, then the rest about these.
func TestProvidersThatProvisionAreUnderstood(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/elimity-com/scim").Output()
	require.NoError(t, err)
	recordings := filepath.Join(strings.TrimSpace(string(out)), "internal", "idp_test", "testdata")
	ids := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{20}\b`)
	for _, provider := range []string{"okta", "azuread"} {
		t.Run(provider, func(t *testing.T) {
			_, scimmer := directory(t, sqlite, "")
			all, err := filepath.Glob(filepath.Join(recordings, provider, "*.json"))
			if err != nil || len(all) < 8 { // create_… is the first in the alphabet
				t.Fatalf("%d recordings, %v", len(all), err)
			}
			user, group := "", ""
			for _, file := range all {
				var recordedCase struct {
					Request      json.RawMessage
					Method, Path string
				}
				text, err := os.ReadFile(file)
				if err == nil {
					err = json.Unmarshal(text, &recordedCase)
				}
				require.NoError(t, err)
				id := user
				if strings.HasPrefix(recordedCase.Path, "/Groups") {
					id = group
				}
				var body any
				if len(recordedCase.Request) > 0 {
					body = string(recordedCase.Request)
					if recordedCase.Method == "PATCH" { // ids are those of members, and the group's own
						body = ids.ReplaceAllString(body.(string), user)
					}
				}
				a := scimmer.do(t, recordedCase.Method, scim+ids.ReplaceAllString(recordedCase.Path, id), body)
				if a.status > 204 {
					t.Errorf("%s: %s answered %d %s", filepath.Base(file), a.call, a.status, a.text)
				}
				switch filepath.Base(file) {
				case "create_user.json":
					user = a.at("id")
				case "create_group.json":
					group = a.at("id")
				}
			}
		})
	}
}
