package column_test

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
)

func TestNamesAreComparedInOneForm(t *testing.T) {
	for in, want := range map[string]string{
		"EMAIL":             "email",
		"e-mail":            "email",
		"E Mail":            "email",
		"Contact: Email":    "contact email",
		"contact.email":     "contact email",
		"emailAddress":      "email address",
		"customer_id":       "customer id",
		"CustomerID":        "customer id",
		"IDNumber":          "id number",
		"Address1":          "address 1",
		"Date of Birth":     "birthday",
		"First Name":        "firstname",
		"first_name":        "firstname",
		"FirstName":         "firstname",
		"Zip/Postal Code":   "postcode postcode",
		"Prénom":            "prenom",
		"Größe":             "große",
		"Customer's e-mail": "customers email",
		"Order #":           "order number",
		"  ":                "",
		"***":               "",
		"名前":                "名前",
	} {
		if got := column.Normalise(in); got != want {
			t.Errorf("Normalise(%q) = %q, want %q", in, got, want)
		}
	}
	if got := column.Normalise(strings.Repeat("a b ", 1000)); len(got) > 100 {
		t.Errorf("an endless name gives %d bytes", len(got))
	}
}
