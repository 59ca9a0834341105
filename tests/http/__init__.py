# ruff: noqa: A005 - named after what is tested; nothing is imported from it by this short name
