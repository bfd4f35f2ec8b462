package conformance

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// checkProblem compares a problem, which fits its schema, with the registers.
func (v *validator) checkProblem(resp *http.Response, problem map[string]any, codes []string) []string {
	var violations []string
	code := problem["code"].(string)
	if !slices.Contains(codes, code) {
		violations = append(violations, "/code: "+code+" is not among the operation's x-codes")
	}
	kind, ok := v.contract.Problem(code)
	if !ok {
		return append(violations, "/code: "+code+" is not in x-problems")
	}
	for pointer, want := range map[string]string{
		"status": strconv.Itoa(kind.Status), "title": kind.Title, "type": "/problems/" + code,
		"request_id": resp.Header.Get("Request-Id"),
	} {
		if got := fmt.Sprint(problem[pointer]); got != want {
			violations = append(violations, fmt.Sprintf("/%s: %q, want %q", pointer, got, want))
		}
	}
	if kind.Status != resp.StatusCode {
		violations = append(violations, fmt.Sprintf("the status of %s is %d in x-problems", code, kind.Status))
	}
	fieldCodes, _ := v.doc.Extensions["x-field-codes"].(map[string]any)
	errors, _ := problem["errors"].([]any)
	for i, entry := range errors {
		if code := entry.(map[string]any)["code"].(string); fieldCodes[code] == nil {
			violations = append(violations, fmt.Sprintf("/errors/%d/code: %s is not in x-field-codes", i, code))
		}
	}
	slices.Sort(violations)
	return violations
}

// codeOf returns a problem's code; "" for another response.
func codeOf(resp *http.Response, body []byte) string {
	var problem struct{ Code string }
	if resp.StatusCode < http.StatusBadRequest || json.Unmarshal(body, &problem) != nil {
		return ""
	}
	return problem.Code
}

// bodyKey returns a hash of everything that the check of a body of JSON depends on: the operation, the status, the type
// and the body. From a problem, the request id is left out after it was compared with that of the response. ok is false
// for problems where it is another, or could change what the rest of the body means.
func bodyKey(operation string, resp *http.Response, contentType string, body []byte) (key [sha256.Size]byte, ok bool) {
	previous, current := body, []byte(nil)
	if contentType == "application/problem+json" {
		id := resp.Header.Get("Request-Id")
		previous, current, ok = bytes.Cut(body, []byte(`"request_id":"`+id+`"`))
		special := func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }
		if !ok || strings.ContainsFunc(id, special) {
			return key, false
		}
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %d %s %d ", operation, resp.StatusCode, contentType, len(previous))
	hash.Write(previous)
	hash.Write(current)
	return [sha256.Size]byte(hash.Sum(nil)), true
}

// wasRight reports whether a body with this key had no violations. Tests of permissions get the same few refusals, and
// tests that wait for something the same resource, thousands of times.
func (v *validator) wasRight(key [sha256.Size]byte) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.right[key]
}

func (v *validator) rememberRight(key [sha256.Size]byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.right[key] = true
}
