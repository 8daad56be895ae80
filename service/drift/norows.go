package drift

import (
	"slices"

	"zonedeck/model"
)

// silentRuns counts the newest runs without a useful row.
func (s *Standing) silentRuns(all []Run) {
	var classes tally
	for _, r := range all {
		if r.Useful > 0 {
			break
		}
		s.Silent++
		s.Since = r.At
		classes.add(r.Class, r.Cause)
	}
	s.SilentClass, s.SilentCause = classes.most()
}

// tally counts classes.
type tally []classCount

type classCount struct {
	class model.Class
	cause model.Cause
	n     int
}

func (t *tally) add(class model.Class, cause model.Cause) {
	if class == "" {
		class, cause = model.ClassOutside, model.CauseEmptyBody
	}
	i := slices.IndexFunc(*t, func(c classCount) bool { return c.class == class && c.cause == cause })
	if i < 0 {
		*t = append(*t, classCount{class: class, cause: cause})
		i = len(*t) - 1
	}
	(*t)[i].n++
}

func (t tally) most() (model.Class, model.Cause) {
	if len(t) == 0 {
		return "", ""
	}
	best := slices.MaxFunc(t, func(a, b classCount) int { return a.n - b.n })
	return best.class, best.cause
}

// silentJobs counts, for each data set of a profile, the newest jobs that ended without a useful row. It skips
// jobs for which that is not known.
func silentJobs(profile string, jobs []model.Job) map[string]Standing {
	out, ended, classes := map[string]Standing{}, map[string]bool{}, map[string]*tally{}
	for _, j := range jobs {
		if j.Profile != profile || ended[j.Dataset] {
			continue
		}
		class, cause, useful, known := outcome(j)
		switch {
		case !known:
		case useful:
			ended[j.Dataset] = true
		default:
			s := out[j.Dataset]
			if s.Silent == 0 {
				s.Run = Run{Subject: Subject{profile, Dataset, j.Dataset}, Ref: j.ID, At: j.Created, State: Empty}
				s.Verdict.State = Empty
				classes[j.Dataset] = &tally{}
			}
			s.Silent++
			s.Since = j.Created
			classes[j.Dataset].add(class, cause)
			s.SilentClass, s.SilentCause = classes[j.Dataset].most()
			out[j.Dataset] = s
		}
	}
	return out
}

// incomplete names, for each data set of a profile, the newest job with a downloaded result if records of that are
// missing. jobs are newest first.
func incomplete(profile string, jobs []model.Job) map[string]string {
	out := map[string]string{}
	for _, j := range jobs {
		if _, seen := out[j.Dataset]; seen || j.Profile != profile || !j.Rows.Counted {
			continue
		}
		out[j.Dataset] = ""
		if j.Lacking() > 0 {
			out[j.Dataset] = j.ID
		}
	}
	return out
}

// outcome says whether a job gave useful rows, and of what class its failure is. One that was forgotten
// before it was ready gave none; one whose result nobody fetched in time may have had some.
func outcome(j model.Job) (class model.Class, cause model.Cause, useful, known bool) {
	switch {
	case j.Rows.Counted && j.Rows.Useful == 0 && j.Lacking() > 0: // a useful row may be among those that did not come
		return "", "", false, false
	case j.Rows.Counted:
		if len(j.Rows.Errors) > 0 {
			class, cause = j.Rows.Errors[0].Class, j.Rows.Errors[0].Cause
		}
		return class, cause, j.Rows.Useful > 0, true
	case j.State == model.JobFailed, j.State == model.JobRefused, j.Forgotten() && j.Fault.Call == model.CallProgress:
		return j.Fault.Diagnosis.Class, j.Fault.Diagnosis.Cause, false, true
	default:
		return "", "", false, false
	}
}
