package ordercheck

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

var shopTiers = types.NamespacedName{Namespace: testNamespace, Name: "tiers"}

func TestTimelineTellsEachStep(t *testing.T) {
	second := passing(990 * time.Millisecond) // and the tick of the step makes it a whole one
	history := tell(
		create("web"), watchBegins,
		order("tiers", group(v1alpha1.PodGroup{Name: "Database", Pods: []string{"db"}}), named("app"), everythingElse),
		create("app"), create("db", gated), create("stranger", inNamespace("other")),
		second, release("db"), second, bind("db"), second, ready("db"), second, bind("app"), unready("db"),
		second, remove("app"), create("app"),
	)
	timeline, err := NewTimeline(history, shopTiers)
	require.NoError(t, err)
	assert.Equal(t, ""+
		"PodSequence shop/tiers: 5.0 s in all (. waiting  = starting  # ready)\n"+
		"GROUP       POD  CREATED  RELEASED  BOUND  READY  \n"+
		"1 Database  db   0.0s     1.0s      2.0s   3.0s   |...................=========####################|\n"+
		"2 Group 2   app  0.0s     4.0s      4.0s   -      |......................................========= |\n"+
		"2 Group 2   app  5.0s     -         -      -      |                                               .|\n"+
		"3 Group 3   web  -        -         -      -      |                                                |",
		timeline.String())
}

func TestTimelineQuotesNamesThatAreNotPlain(t *testing.T) {
	history := tell(
		order("tiers", group(v1alpha1.PodGroup{Name: "a\nb", Pods: []string{"db"}}),
			group(v1alpha1.PodGroup{Name: "web, db", Pods: []string{"web"}, DependsOn: after("a\nb")})),
		create("db"), create("web"))
	timeline, err := NewTimeline(history, shopTiers)
	require.NoError(t, err)
	assert.Contains(t, timeline.String(), `1 "a\nb" `)
	assert.Contains(t, timeline.String(), `2 "web, db"  "a\nb" `)
}

func TestTimelineOfNodesGoesNodeByNode(t *testing.T) {
	timeline, err := NewTimeline(tell(
		order("tiers", perNode, tier("csi"), named("app", "app-2")), create("app"), create("app-2"),
		create("csi-2", labelled("tier", "csi"), at("node-2")), create("csi-1", labelled("tier", "csi"), at("node-1")),
		bindTo("app", "node-2"),
	), shopTiers)
	require.NoError(t, err)
	assert.Equal(t, ""+
		"PodSequence shop/tiers: 0.0 s in all (. waiting  = starting  # ready)\n"+
		"NODE    GROUP      POD    CREATED  RELEASED  BOUND  READY  \n"+
		"-       2 Group 2  app-2  0.0s     -         -      -      |            ....................................|\n"+
		"node-1  1 Group 1  csi-1  0.0s     0.0s      0.0s   -      |                                    ============|\n"+
		"node-2  1 Group 1  csi-2  0.0s     0.0s      0.0s   -      |                        ========================|\n"+
		"node-2  2 Group 2  app    0.0s     0.0s      0.0s   -      |...............................................=|",
		timeline.String())
}

func TestTimelineOfAnUnknownSequenceIsAnError(t *testing.T) {
	_, err := NewTimeline(tell(), shopTiers)
	assert.EqualError(t, err, "lay out PodSequence shop/tiers: it was never seen")
}

func TestTimelineOfADeletedSequenceIsStillTold(t *testing.T) {
	timeline, err := NewTimeline(tell(order("tiers", named("db")), create("db"), disband("tiers")), shopTiers)
	require.NoError(t, err)
	assert.Len(t, timeline.Pods, 1)
}
