package sqlstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestACustomerIsReadInOneStatement(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, sent := databases.Watched(t, url)
		orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
		if err != nil {
			t.Fatal(err)
		}
		s := db.Stores()
		by := fixture.NewTeam(t, s, orgs["one"]).Admin
		const account = "sandbox"
		if _, err := s.Payments.Reserve(t.Context(), by, &payment.Customer{
			Org: by.Org, Workspace: by.Workspace, Gateway: payment.Sandbox, Account: account, Key: "key", Revision: 1,
		}); err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			if _, err := s.Payments.Update(t.Context(), by, account, func(c *payment.Customer) error {
				c.ID = "cus_1"
				c.Methods = nil
				for i := range n {
					c.Methods = append(c.Methods, payment.Method{
						ID: payment.MethodID(fmt.Sprint("pm_", i)), CreatedAt: fixture.At.Add(time.Duration(i)),
					})
				}
				if n == 1 {
					c.Subscription = &payment.Subscription{
						ID: "sub_1", Plan: "pro", Status: payment.Active, Quantity: 1,
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			sent.Take()
			c, err := s.Payments.Customer(t.Context(), by.Workspace, account)
			if err != nil {
				t.Fatal(err)
			}
			atMost(t, sent, 1)
			if len(c.Methods) != n || (c.Subscription != nil) != (n > 0) {
				t.Errorf("with %d methods: %+v", n, c)
			}
		}
	})
}
