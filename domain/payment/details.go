package payment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
)

// Details describe a customer. The gateway stores them, and shows them on invoices.
type Details struct {
	Name    string  `json:"name,omitempty"`
	Email   string  `json:"email,omitempty"` // where the gateway sends invoices
	Address Address `json:"address,omitzero"`
	TaxIDs  []TaxID `json:"tax_ids,omitempty"` // by type, then value

	// Workspace is stored with the customer, so that people at the gateway can identify the workspace.
	Workspace identity.WorkspaceID `json:"-"`

	// Taxed says that the gateway must be able to determine the taxes at Address.
	Taxed bool `json:"-"`
}

// Address is a postal address. Only Country is required, unless the whole address is empty.
type Address struct {
	Line1      string `json:"line1,omitempty"`
	Line2      string `json:"line2,omitempty"`
	City       string `json:"city,omitempty"`
	PostalCode string `json:"postal_code,omitempty"`
	State      string `json:"state,omitempty"`
	Country    string `json:"country,omitempty"` // ISO 3166-1 alpha-2, in upper case
}

// TaxID is a company's tax number.
type TaxID struct {
	Type  string `json:"type"` // as Stripe names it, such as eu_vat
	Value string `json:"value"`
}

// Matches reports whether the gateway stores the same for d and o.
func (d *Details) Matches(o *Details) bool {
	return d.Name == o.Name && d.Email == o.Email && d.Address == o.Address && slices.Equal(d.TaxIDs, o.TaxIDs)
}

// differences names the fields in which d and o differ. It never returns their values, which are personal.
func (d *Details) differences(o *Details) []string {
	var names []string
	for name, same := range map[string]bool{
		"name": d.Name == o.Name, "email": d.Email == o.Email, "address": d.Address == o.Address,
		"tax_ids": slices.Equal(d.TaxIDs, o.TaxIDs),
	} {
		if !same {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// CheckDetails returns details that by enters in the form in which they are stored, or ErrInvalid with all fields that
// are wrong. The gateway decides whether a tax id exists.
func CheckDetails(by identity.Actor, d Details) (Details, error) {
	if err := MayManage(by); err != nil {
		return Details{}, err
	}
	var errs fault.Fields
	text := func(pointer string, s *string) {
		*s = naming.Normal(strings.TrimSpace(*s))
		if naming.Deceptive(*s) {
			errs.Add(pointer, "invalid_characters", naming.Refusal)
		}
	}
	text("/name", &d.Name)
	text("/email", &d.Email)
	a := &d.Address
	for _, f := range []struct {
		pointer string
		value   *string
	}{
		{"/address/line1", &a.Line1}, {"/address/line2", &a.Line2}, {"/address/city", &a.City},
		{"/address/postal_code", &a.PostalCode}, {"/address/state", &a.State},
	} {
		text(f.pointer, f.value)
	}
	if *a != (Address{}) && !slices.Contains(countries, a.Country) {
		errs.Add("/address/country", "not_allowed_value", "Must be an ISO 3166-1 alpha-2 code, such as DE.")
	}
	d.TaxIDs = slices.Clone(d.TaxIDs)
	for i := range d.TaxIDs {
		id := &d.TaxIDs[i]
		text(fmt.Sprintf("/tax_ids/%d/value", i), &id.Value)
		if !slices.Contains(taxIDTypes, id.Type) {
			errs.Add(fmt.Sprintf("/tax_ids/%d/type", i), "not_allowed_value",
				"Must be a type that Stripe documents, such as eu_vat.")
		}
		if slices.Contains(d.TaxIDs[:i], *id) {
			errs.Add(fmt.Sprintf("/tax_ids/%d", i), "duplicate_item", "Must not be given twice.")
		}
	}
	d.SortTaxIDs()
	return d, errs.Err()
}

// SortTaxIDs sorts the tax ids by type, then value.
func (d *Details) SortTaxIDs() {
	slices.SortFunc(d.TaxIDs, func(a, b TaxID) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value))
	})
}

// Describe returns what the gateway must store about c: what people entered, and otherwise the name of the
// workspace and the address of an owner. owners are the addresses of the owners; the one that the gateway has
// stays while its user is an owner.
func (c *Customer) Describe(workspace string, owners []string) Details {
	d := c.Entered
	d.Workspace = c.Workspace
	if d.Name == "" {
		d.Name = workspace
	}
	if d.Email == "" {
		email := c.Details.Email
		if c.Given != nil {
			email = c.Given.Email
		}
		d.Email = email
		if len(owners) > 0 && !slices.Contains(owners, email) {
			d.Email = owners[0]
		}
	}
	return d
}

// HasGiven reports whether the gateway is known to have d.
func (c *Customer) HasGiven(d Details) bool { return c.Given != nil && c.Given.Matches(&d) }

// BeginGiving starts the call under key that sends the gateway other details. The gateway's details are unknown until
// EndGiving.
func (c *Customer) BeginGiving(key string) { c.Giving, c.Given = key, nil }

// EndGiving records that the gateway has accepted d in the call under key. It returns false if another call began in
// the meantime: then the gateway may have the details of either, and they must be sent again.
func (c *Customer) EndGiving(by identity.Actor, key string, d Details) bool {
	isOnly := c.Giving == key
	c.Giving, c.Given = "", nil
	if isOnly {
		c.Given = &d
		c.Record(by, "payment_customer.updated", string(c.ID), nil)
	}
	return isOnly
}

// Enter stores details that the gateway has accepted. CheckDetails must have returned d.
func (c *Customer) Enter(by identity.Actor, d Details) error {
	if err := c.allow(by); err != nil {
		return err
	}
	if names := d.differences(&c.Entered); len(names) > 0 {
		c.Entered = d
		c.Record(by, "payment_details.changed", string(c.ID), map[string]any{"changed": names})
		c.touch(by)
	}
	return nil
}
