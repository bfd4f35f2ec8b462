package payment_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestCheckDetails(t *testing.T) {
	germany := payment.Address{Line1: "Am Markt 1", Country: "DE"}
	for name, tt := range map[string]struct {
		in    payment.Details
		want  payment.Details
		wrong string // the pointers of the fields that are wrong
	}{
		"nothing can be entered": {},
		"texts are trimmed, and tax ids are sorted": {
			payment.Details{
				Name: " Acme ", Email: "a@example.com ", Address: payment.Address{City: " Köln", Country: "DE"},
				TaxIDs: []payment.TaxID{{"gb_vat", "GB1 "}, {"eu_vat", "DE2"}, {"eu_vat", "DE1"}},
			},
			payment.Details{
				Name: "Acme", Email: "a@example.com", Address: payment.Address{City: "Köln", Country: "DE"},
				TaxIDs: []payment.TaxID{{"eu_vat", "DE1"}, {"eu_vat", "DE2"}, {"gb_vat", "GB1"}},
			}, "",
		},
		"an address needs a country": {in: payment.Details{Address: payment.Address{City: "Köln"}},
			wrong: "/address/country "},
		"a country must exist": {in: payment.Details{Address: payment.Address{Country: "XX"}},
			wrong: "/address/country "},
		"a country is written in upper case": {in: payment.Details{Address: payment.Address{Country: "de"}},
			wrong: "/address/country "},
		"a type of tax id must exist": {in: payment.Details{TaxIDs: []payment.TaxID{{"eu_tav", "DE1"}}},
			wrong: "/tax_ids/0/type "},
		"a tax id can be given once": {in: payment.Details{TaxIDs: []payment.TaxID{{"eu_vat", "DE1"},
			{"eu_vat", "DE1"}}}, wrong: "/tax_ids/1 "},
		"no text can deceive": {
			in: payment.Details{
				Name: "A\u202e", Email: "a\u200b@example.com", Address: payment.Address{Line1: "a\nb", Country: "DE"},
				TaxIDs: []payment.TaxID{{"eu_vat", "DE\u0000"}},
			}, wrong: "/name /email /address/line1 /tax_ids/0/value ",
		},
		"every field is checked at once": {
			in: payment.Details{Name: "\u202e", Address: payment.Address{Country: "XX"},
				TaxIDs: []payment.TaxID{{"x", "1"}}},
			wrong: "/name /address/country /tax_ids/0/type ",
		},
		"an address without a street": {
			in: payment.Details{Address: germany}, want: payment.Details{Address: germany},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := payment.CheckDetails(admin, tt.in)
			problem := ""
			if f, ok := errors.AsType[*fault.Error](err); ok {
				for _, field := range f.Fields {
					problem += field.Pointer + " "
				}
			}
			require.Equal(t, "wrong", problem, tt.wrong)
			if tt.wrong != "" {
				return
			}
			assert.That(t, got.Matches(&tt.want), "(-want +got):\n%s", cmp.Diff(tt.want, got))
		})
	}
	t.Run("a member cannot enter them", func(t *testing.T) {
		_, err := payment.CheckDetails(member, payment.Details{})
		require.ErrorIs(t, err, payment.ErrRoleRequired)
		require.ErrorIs(t, customer().Enter(member, payment.Details{}), payment.ErrRoleRequired)
		_, err = payment.CheckDetails(identity.Actor{Org: "org"}, payment.Details{})
		require.ErrorIs(t, err, identity.ErrWorkspaceNotFound)
	})
}

func TestDescribe(t *testing.T) {
	const ann, bob = "ann@example.com", "bob@example.com"
	for name, tt := range map[string]struct {
		entered payment.Details
		had     string // the address that the gateway had
		given   *payment.Details
		owners  []string
		want    payment.Details
	}{
		"the name of the workspace and the address of an owner": {
			owners: []string{ann, bob}, want: payment.Details{Name: "Acme", Email: ann},
		},
		"the address that the gateway has stays while it is an owner's": {
			had: bob, owners: []string{ann, bob}, want: payment.Details{Name: "Acme", Email: bob},
		},
		"the address that the gateway was given last counts": {
			had: "old@example.com", given: &payment.Details{Email: bob}, owners: []string{ann, bob},
			want: payment.Details{Name: "Acme", Email: bob},
		},
		"the address of someone who owns nothing any more goes": {
			had: "eve@example.com", owners: []string{ann}, want: payment.Details{Name: "Acme", Email: ann},
		},
		"without an address of an owner the old one stays": {had: ann, want: payment.Details{Name: "Acme", Email: ann}},
		"entered values come first": {
			entered: payment.Details{Name: "Acme GmbH", Email: "bills@example.com",
				Address: payment.Address{Country: "DE"}}, had: ann,
			owners: []string{ann},
			want: payment.Details{Name: "Acme GmbH", Email: "bills@example.com",
				Address: payment.Address{Country: "DE"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := customer()
			c.Entered, c.Details.Email, c.Given = tt.entered, tt.had, tt.given
			got := c.Describe("Acme", tt.owners)
			assert.That(t, got.Matches(&tt.want) && got.Workspace == "acme", "Describe = %+v", got)
		})
	}
}

func TestDetailsThatTwoCallsGiveAreUnknown(t *testing.T) {
	one, two := payment.Details{Name: "One"}, payment.Details{Name: "Two"}
	c := customer()
	c.Given = &two
	c.BeginGiving("1")
	assert.That(t, !c.HasGiven(two), "they are known while a call is under way")
	assert.That(t, c.EndGiving(owner, "1", one) && c.HasGiven(one) && !c.HasGiven(two), "after one call: %+v", c.Given)
	c.BeginGiving("2")
	c.BeginGiving("3")
	assert.That(t, !c.EndGiving(owner, "2", one) && !c.EndGiving(owner, "3", two) && c.Given == nil,
		"after two calls at once: %+v", c.Given)
	assert.Equal(t, "recorded", recorded(&c.Log), "payment_customer.updated ")
}

func TestEnteredDetailsAreRecordedWithoutTheirValues(t *testing.T) {
	c := customer()
	d := payment.Details{Name: "Acme GmbH", TaxIDs: []payment.TaxID{{"eu_vat", "DE123456789"}}}
	require.NoError(t, c.Enter(owner, d))
	require.NoError(t, c.Enter(owner, d))
	all := c.Recorded()
	assert.That(t, len(all) == 1 && all[0].Type == "payment_details.changed" && cmp.Diff([]string{"name", "tax_ids"},
		all[0].Data["changed"]) == "", "recorded %+v", all)
}
