package mapping

import (
	"reflect"
	"testing"

	"parley/tenant"
)

func TestTasksOfTenants(t *testing.T) {
	got, cut, err := ParseTasks("swarm=https://example.org/start pages=30 screenshots=5 minutes=10 clicks; me = http://a.test:8080 research pages=9999")
	want := map[tenant.ID]Task{
		"swarm": {"https://example.org/start", Limits{Pages: 30, Shots: 5, Minutes: 10, Clicks: true}},
		"me":    {"http://a.test:8080", Limits{Pages: MaxPages, Shots: 20, Minutes: 20, Research: true}},
	}
	if err != nil || !reflect.DeepEqual(got, want) || len(cut) != 1 || cut[0] != "tenant me: pages: 9999 is above the ceiling of 200" {
		t.Errorf("%+v %q %v", got, cut, err)
	}
	if got, _, err := ParseTasks(" ;\n"); err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"swarm", "swarm=", "=https://a.test", "swarm=example.org", "swarm=file:///x", "swarm=https://u@a.test", "swarm=https://a.test pages", "swarm=https://a.test pages=0",
		"swarm=https://a.test pages=-1", "swarm=https://a.test pages=many", "swarm=https://a.test click", "swarm=https://a.test; swarm=https://b.test"} {
		if got, _, err := ParseTasks(bad); err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}
