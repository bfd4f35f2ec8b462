package scim

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	scimerrors "github.com/elimity-com/scim/errors"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	errPath   = scimerrors.ScimErrorInvalidPath
	errSyntax = scimerrors.ScimErrorInvalidSyntax
	errValue  = scimerrors.ScimErrorInvalidValue
	errFilter = scimerrors.ScimErrorInvalidFilter
)

// maxOperations is the maximum number of operations in one PATCH: each of them may look at every group member.
const maxOperations = 1000

// rewrite replaces the request's body by one that the library understands: with the attributes that are stored, in one
// spelling. Errors are SCIM's.
func (c *call) rewrite(r *http.Request, k kind) error {
	body, err := io.ReadAll(r.Body)
	if _, isLarge := errors.AsType[*http.MaxBytesError](err); isLarge {
		return scimerrors.ScimError{Status: http.StatusRequestEntityTooLarge, Detail: "The body is larger than 4 MiB."}
	}
	if err != nil {
		return errSyntax
	}
	members, err := object(body)
	if err != nil {
		return err
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/.search"):
		err = c.search(members)
	case r.Method == http.MethodPatch:
		c.nameOperations(members)
		err = c.operations(members, k)
	default:
		c.nameMembers(members)
		members, err = c.resource(members, k)
	}
	if err != nil {
		return err
	}
	if body, err = json.Marshal(members); err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return nil
}

// object returns the JSON object that a body is. Every key must be unique in its object.
func object(body []byte) (map[string]any, error) {
	if !jsontext.Value(body).IsValid() { // which refuses a key that is there twice
		return nil, errSyntax
	}
	var members map[string]any
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return nil, errSyntax
	}
	return members, nil
}

// member returns the object's member with a name, in any case.
func member(object map[string]any, name string) any {
	for key, value := range object {
		if strings.EqualFold(key, name) {
			return value
		}
	}
	return nil
}

// resource returns a resource that POST or PUT sends, as it is stored.
func (c *call) resource(members map[string]any, k kind) (map[string]any, error) {
	out := map[string]any{"schemas": []string{k.schema.ID}}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if strings.EqualFold(name, "schemas") {
			continue
		}
		_, short, _ := cutSchema(name)
		a, ok := find(k.stored, short)
		if !ok {
			continue
		}
		if _, isRepeated := out[a.name]; isRepeated {
			return nil, errSyntax
		}
		if value := a.value(members[name]); value != nil {
			out[a.name] = value
		}
	}
	return out, nil
}

// value returns the attribute's value as the library expects it; nil for none. What has another type than the
// attribute stays as it is, for the library to refuse.
func (a attribute) value(raw any) any {
	switch {
	case raw == nil:
		return nil
	case a.isList:
		items, isList := raw.([]any)
		if !isList {
			items = []any{raw}
		}
		out := make([]any, 0, len(items))
		for _, item := range items {
			if item = a.item(item); item != nil {
				out = append(out, item)
			}
		}
		return out
	case len(a.parts) > 0:
		return a.item(raw)
	}
	return a.simple(raw)
}

// item returns one object of a list, or an attribute that is an object.
func (a attribute) item(raw any) any {
	if list, isList := raw.([]any); isList && len(list) == 1 {
		raw = list[0]
	}
	if value, isText := raw.(string); isText && a.isList {
		return map[string]any{"value": value}
	}
	members, isObject := raw.(map[string]any)
	if !isObject {
		return raw
	}
	out := map[string]any{}
	for name, value := range members {
		part, ok := find(a.parts, name)
		if !ok {
			continue
		}
		if value = part.value(value); value != nil {
			out[part.name] = value
		}
	}
	return out
}

// simple returns a string or boolean. Entra ID sends "False" for false, and its older jobs wrap a value in a list:
// learn.microsoft.com/entra/identity/app-provisioning/application-provisioning-config-problem-scim-compatibility
func (a attribute) simple(raw any) any {
	if list, isList := raw.([]any); isList && len(list) == 1 {
		raw = list[0]
	}
	if members, isObject := raw.(map[string]any); isObject {
		if inner := member(members, "value"); inner != nil {
			raw = inner
		}
	}
	if text, isText := raw.(string); isText && a.isFlag {
		switch {
		case strings.EqualFold(text, "true"):
			return true
		case strings.EqualFold(text, "false"):
			return false
		}
	}
	return raw
}

// operations changes a PATCH's operations to those on stored attributes, each with a path.
func (c *call) operations(members map[string]any, k kind) error {
	raw, isList := member(members, "Operations").([]any)
	if !isList || len(raw) == 0 {
		return errValue
	}
	if len(raw) > maxOperations {
		return scimerrors.ScimErrorTooMany
	}
	out := []any{}
	for _, one := range raw {
		operation, isObject := one.(map[string]any)
		if !isObject {
			return errValue
		}
		changes, err := c.changes(operation, k)
		if err != nil {
			return err
		}
		out = append(out, changes...)
	}
	if len(out) == 0 { // only attributes that are not stored
		out = []any{map[string]any{"op": "add", "value": map[string]any{}}}
	}
	clear(members)
	members["schemas"] = []string{"urn:ietf:params:scim:api:messages:2.0:PatchOp"}
	members["Operations"] = out
	return nil
}

// changes returns one PATCH operation as operations with paths. Without a path, the value has the attributes as
// members, whose names may be paths.
func (c *call) changes(operation map[string]any, k kind) (changes []any, err error) {
	op, _ := member(operation, "op").(string)
	op = strings.ToLower(op)
	if op != "add" && op != "replace" && op != "remove" {
		return nil, errValue
	}
	path, _ := member(operation, "path").(string)
	value := member(operation, "value")
	if path != "" {
		return c.change(changes, k, op, path, value)
	}
	members, isObject := value.(map[string]any)
	switch {
	case op == "remove":
		return nil, scimerrors.ScimErrorNoTarget
	case !isObject:
		return nil, errValue
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if changes, err = c.change(changes, k, op, name, members[name]); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// change appends the change of the attribute at a path to changes, if the attribute is stored.
func (c *call) change(changes []any, k kind, op, path string, value any) ([]any, error) {
	t, isStored, err := k.target(path)
	if err != nil || !isStored {
		return changes, err
	}
	change := map[string]any{"op": op, "path": t.path}
	switch value = t.value(value); {
	case value != nil:
		change["value"] = value
	case op == "add":
		return changes, nil
	case op == "replace": // by nothing
		change["op"] = "remove"
	}
	return append(changes, change), nil
}
