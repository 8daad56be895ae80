package journal

import (
	"errors"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database"
)

func TestABaselineIsKeptForEachProfileAndSurvivesARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "journal.db")
	j := openTest(t, file)
	if _, err := j.Baseline(t.Context(), "acme"); !errors.Is(err, database.ErrNotFound) {
		t.Errorf("without a baseline: %v", err)
	}
	first := model.Baseline{Profile: "acme", Started: testTime, Target: "https://u:pw@lab.test/", Calls: 3, Rows: []model.LoginRow{
		{Zone: "isp1", Product: model.ProductISP, Connect: 38 * time.Millisecond, Median: -1, ConnectStatus: 407, Code: "client_10000", Class: model.ClassOutside, Cause: model.CauseLoginRejected, Made: 1},
	}}
	second := first
	second.Started, second.Rows = testTime.Add(time.Hour), []model.LoginRow{{Zone: "isp1", Class: model.ClassOK, Countries: []string{"DE"}, Made: 3, OK: 3, Known: 3, Unique: 2}}
	other := model.Baseline{Profile: "other", Started: testTime, Target: "https://lab.test/", Calls: 1}
	for _, m := range []model.Baseline{first, other, second} {
		noerr.Must(t, j.PutBaseline(t.Context(), m))
	}
	noerr.Must(t, j.Close())
	j = openTest(t, file)
	second.Target = "https://u:xxxxx@lab.test/"
	for _, want := range []model.Baseline{second, other} {
		if got, err := j.Baseline(t.Context(), want.Profile); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v\nwant %+v", got, err, want)
		}
	}
}
