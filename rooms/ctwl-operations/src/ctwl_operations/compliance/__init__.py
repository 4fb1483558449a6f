"""What a provider owes under the EU's code, from measured figures."""
