"""The learner: policies, advantages, losses and the update. It knows no world by name."""
