package player

import (
	"context"
	"slices"

	"example.com/podsequence/test/prove/plan"
)

func (p *Player) reboot(ctx context.Context, step plan.Step) error {
	if slices.Contains(p.Site.RealNodes(), step.Args[0]) {
		return p.Site.RebootNode(ctx, step.Args[0])
	}
	return p.change(ctx, step)
}
