package scim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	scimerrors "github.com/elimity-com/scim/errors"
)

// choice is which attributes a request wants (RFC 7644, section 3.9). Empty: those that are returned by default.
type choice struct {
	chosen, excluded []string // names in lower case, perhaps with a sub-attribute: name.givenname
}

// attributeNames returns the names in a list with commas. A schema before a name does not matter.
func attributeNames(list ...string) (names []string) {
	for _, text := range list {
		for name := range strings.SplitSeq(text, ",") {
			if _, name, _ = cutSchema(strings.TrimSpace(name)); name != "" {
				names = append(names, strings.ToLower(name))
			}
		}
	}
	return names
}

// prepare makes the request one that the library understands.
func (c *call) prepare(r *http.Request) error {
	query := r.URL.Query()
	c.choice = choice{attributeNames(query["attributes"]...), attributeNames(query["excludedAttributes"]...)}
	if text := query.Get("filter"); text != "" {
		standard, err := standardFilter(text)
		if err != nil {
			return err
		}
		c.nameFilter(standard)
		query.Set("filter", standard)
		r.URL.RawQuery = query.Encode()
	}
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
	default:
		return nil
	}
	k := userKind
	if strings.HasPrefix(r.URL.Path, Path+"/Groups") {
		k = groupKind
	}
	return c.rewrite(r, k)
}

// search checks a search's body, which has the parameters of lists.
func (c *call) search(members map[string]any) error {
	names := func(name string) (list []string) {
		all, _ := member(members, name).([]any)
		for _, one := range all {
			text, _ := one.(string)
			list = append(list, text)
		}
		return list
	}
	c.choice = choice{attributeNames(names("attributes")...), attributeNames(names("excludedAttributes")...)}
	text, isText := member(members, "filter").(string)
	if !isText {
		return nil
	}
	standard, err := standardFilter(text)
	c.nameFilter(standard)
	delete(members, "filter")
	members["filter"] = standard
	return err
}

// response sends what the library responds, as the request wants it.
type response struct {
	http.ResponseWriter
	request *http.Request
	call    *call
	status  int
	refused refusedBody
}

// WriteHeader implements http.ResponseWriter. What the client has already is not sent (RFC 7644, section 3.14).
func (w *response) WriteHeader(status int) {
	tags := w.request.Header.Values("If-None-Match")
	if status == http.StatusOK && w.request.Method == http.MethodGet && matches(tags, w.Header().Get("Etag")) {
		status = http.StatusNotModified
		w.Header().Del("Content-Type")
	}
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter. The library writes a whole response at once.
func (w *response) Write(body []byte) (int, error) {
	if w.status == http.StatusNotModified {
		return len(body), nil
	}
	w.refused.note(w.status, body)
	chosen := body
	if w.status < http.StatusBadRequest {
		chosen = w.call.choice.filter(body)
	}
	if n, err := w.ResponseWriter.Write(chosen); err != nil {
		return n, err
	}
	return len(body), nil
}

// send sends a response that the library has not made.
func (w *response) send(status int, body any) {
	w.Header().Set("Content-Type", "application/scim+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// refuse sends an error.
func (w *response) refuse(err error) {
	refused := scimerrors.ScimErrorInternal
	if failure, ok := errors.AsType[scimerrors.ScimError](err); ok {
		refused = failure
	}
	w.send(refused.Status, refused)
}

// filter returns a response with the chosen attributes of its resource or resources.
func (c choice) filter(body []byte) []byte {
	if len(c.chosen)+len(c.excluded) == 0 {
		return body
	}
	var members map[string]any
	if json.Unmarshal(body, &members) != nil {
		return body
	}
	if list, isList := members["Resources"].([]any); isList {
		for _, one := range list {
			if resource, isObject := one.(map[string]any); isObject {
				c.remove(resource, "", false)
			}
		}
	} else if members["id"] != nil {
		c.remove(members, "", false)
	}
	chosen, err := json.Marshal(members)
	if err != nil {
		return body
	}
	return chosen
}

// remove removes the members that are not chosen from an object. Its names follow prefix; isChosen reports whether the
// object was chosen as a whole.
func (c choice) remove(object map[string]any, prefix string, isChosen bool) {
	for name, value := range object {
		full := prefix + strings.ToLower(name)
		if prefix == "" && (name == "id" || name == "schemas") { // always returned (RFC 7643, sections 3.1 and 7)
			continue
		}
		isNamed := isChosen || len(c.chosen) == 0 || slices.Contains(c.chosen, full)
		hasNamedPart := slices.ContainsFunc(c.chosen,
			func(name string) bool { return strings.HasPrefix(name, full+".") })
		if slices.Contains(c.excluded, full) || (!isNamed && !hasNamedPart) {
			delete(object, name)
			continue
		}
		items, isList := value.([]any)
		if !isList {
			items = []any{value}
		}
		for _, item := range items {
			if inner, isObject := item.(map[string]any); isObject && prefix == "" {
				c.remove(inner, full+".", isNamed)
			}
		}
	}
}

// version returns a resource's ETag: it changes with each attribute.
func version(attributes ...any) string {
	text, _ := json.Marshal(attributes) // of texts, lists and objects
	sum := sha256.Sum256(text)
	return `W/"` + hex.EncodeToString(sum[:8]) + `"`
}

// checkVersion returns an error if the request changes another version than the current one.
func checkVersion(r *http.Request, current string) error {
	tags := r.Header.Values("If-Match")
	if len(tags) == 0 || matches(tags, current) {
		return nil
	}
	return scimerrors.ScimError{Status: http.StatusPreconditionFailed,
		Detail: "The resource has changed: If-Match names another version."}
}

// matches reports whether one of the tags in headers is current. Weak tags are compared as strong ones: providers copy
// meta.version (RFC 7644, section 3.14).
func matches(headers []string, current string) bool {
	if current == "" {
		return false
	}
	for _, header := range headers {
		for tag := range strings.SplitSeq(header, ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(current, "W/") {
				return true
			}
		}
	}
	return false
}
