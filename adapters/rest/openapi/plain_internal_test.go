package openapi

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestThePlainCheckAcceptsNoBodyThatTheWholeCheckRefuses sends random bodies that are nearly valid to each operation
// that has a plain check.
func TestThePlainCheckAcceptsNoBodyThatTheWholeCheckRefuses(t *testing.T) {
	contract, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, o := range contract.Operations() {
		p := (*plainObject)(nil)
		if o.HasBody {
			p = o.plain()
		}
		if p == nil || len(p.members) == 0 {
			continue
		}
		checked++
		accepted := 0
		for range 1000 {
			body := randomBody(p)
			if !p.accepts([]byte(body)) {
				continue
			}
			accepted++
			if err := o.checkWhole([]byte(body)); err != nil {
				t.Errorf("%s: %s: %v", o.ID, body, err)
			}
		}
		hasPattern := func(m plainMember) bool { return m.pattern != nil }
		if accepted == 0 && !slices.ContainsFunc(membersOf(p), hasPattern) {
			t.Errorf("%s: no body was accepted", o.ID)
		}
	}
	if checked < 20 {
		t.Errorf("only %d operations have a plain check", checked)
	}
}

func membersOf(p *plainObject) (all []plainMember) {
	for _, m := range p.members {
		all = append(all, m)
	}
	return all
}

// pick returns one of several, mostly the first.
func pick(usual string, others ...string) string {
	if rand.IntN(12) > 0 {
		return usual
	}
	return others[rand.IntN(len(others))]
}

// randomBody returns a text that is nearly a valid body.
func randomBody(p *plainObject) string {
	var members []string
	for name, m := range p.members {
		for range 1 + rand.IntN(20)/19 { // few are repeated
			if p.required&m.bit != 0 || rand.IntN(2) == 0 {
				members = append(members, pick("", " ", "\n")+`"`+pick(name, name+"_", "", "\\u0061")+`"`+
					pick(":", " : ", "", "::")+randomValue(&m))
			}
		}
	}
	return pick("", " ", "[") + pick("{", "", "{,") + strings.Join(members, pick(",", " , ", ",,", "")) +
		pick("}", " }\n", "", "}}", ",}", "} x")
}

func randomValue(m *plainMember) string {
	if m.isInteger {
		n := []int64{m.min, m.max, m.min - 1, m.max + 1, 0, -1, (m.min + m.max) / 2}[rand.IntN(7)]
		return pick(fmt.Sprint(n), fmt.Sprint("0", n), fmt.Sprint(n, ".0"), fmt.Sprint(n, ".5"), fmt.Sprint(n, "e0"),
			fmt.Sprint("- ", n), "-", "+1", "-0", "", "null", `"1"`, "99999999999999999999")
	}
	if m.enum != nil {
		return `"` + pick(m.enum[rand.IntN(len(m.enum))], "", "x") + `"`
	}
	n := max(0, []int64{m.min, min(m.max, 300), m.min - 1, min(m.max, 300) + 1, 5}[rand.IntN(5)])
	text := strings.Repeat(pick("a", "9", "-", "A", " ", "é"), int(n))
	return pick(`"`+text+pick("", `\n`, "\x7f", "\x00", "\t", "ü", `\"`, `\ud800`)+`"`, "null", "1", `"`, "{}", "[]")
}

func TestAUsualHeartbeatIsCheckedWithoutAllocations(t *testing.T) {
	contract, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	beat, _ := contract.Operation("POST", "/api/presence")
	body := []byte(`{"device_id":"web-1","device_kind":"web","activity":"idle","ttl_seconds":90}`)
	if n := testing.AllocsPerRun(100, func() {
		if err := beat.CheckBody(body); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
